package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	unslugged  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	alert      = regexp.MustCompile(`alert: (\w+)`)
	runbook    = regexp.MustCompile(`(docs/[a-z-]+\.md)(#[a-z0-9-]+)?`)
)

// anchors are the names by which a page's headings are linked, as GitHub makes them.
func anchors(p page) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(p.prose, -1) {
		text := link.ReplaceAllString(strings.ReplaceAll(m[1], "`", ""), "")
		slug := strings.ReplaceAll(unslugged.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		name := slug
		for n := 1; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		found[name] = true
	}
	return found
}

// A link to a heading that a page has twice leads to the first.
func TestHeadingsOfAPageDiffer(t *testing.T) {
	for _, p := range pages(t) {
		found := map[string]bool{}
		for _, m := range heading.FindAllStringSubmatch(p.prose, -1) {
			if found[m[0]] && p.path != "CHANGELOG.md" {
				t.Errorf("%s has the heading %q twice", p.path, m[1])
			}
			found[m[0]] = true
		}
	}
}

// Every link to something in the repository leads there, to the heading if it names one.
func TestLinks(t *testing.T) {
	byPath, checked := map[string]map[string]bool{}, 0
	all := pages(t)
	for _, p := range all {
		byPath[p.path] = anchors(p)
	}
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(p.prose, "code"), -1) {
			target, anchor, hasAnchor := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			file := p.path
			if target != "" {
				file = path.Join(path.Dir(p.path), target)
			}
			if _, shown := byPath[path.Join(file, "README.md")]; shown && hasAnchor {
				file = path.Join(file, "README.md") // the page that is shown for a folder
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: %s: there is no %s", p.path, m[1], file)
			} else if headings, isPage := byPath[file]; hasAnchor && (!isPage || !headings[anchor]) {
				t.Errorf("%s: %s: %s has no heading for #%s", p.path, m[1], file, anchor)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

// Alerts and notes of the charts, and messages of the programs, send people to pages that exist.
func TestPagesThatFilesNameExist(t *testing.T) {
	byPath := map[string]map[string]bool{}
	for _, p := range pages(t) {
		byPath[p.path] = anchors(p)
	}
	for _, pattern := range []string{"charts/*/files/*", "charts/*/templates/*", "charts/*/values.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range alert.FindAllStringSubmatch(string(text), -1) {
				if !byPath["docs/on-call.md"][strings.ToLower(m[1])] {
					t.Errorf("%s: docs/on-call.md has no heading for the alert %s", file, m[1])
				}
			}
			for _, m := range runbook.FindAllStringSubmatch(string(text), -1) {
				if headings, ok := byPath[m[1]]; !ok || (m[2] != "" && !headings[m[2][1:]]) {
					t.Errorf("%s: there is no %s", file, m[0])
				}
			}
		}
	}
}
