package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A page is a file of Markdown, its path relative to the repository.
type page struct {
	path   string
	text   string
	blocks []block // of code
	prose  string  // the text without them
}

// A block is fenced code.
type block struct {
	language, text string
	mark           string // the comment in the line before, if there is one
	line           int
}

// pages reads all of the repository's pages. Built files and files that tools leave behind are not ours.
func pages(t *testing.T) []page {
	t.Helper()
	var list []page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".bin", ".local", "node_modules", "testdata"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md" && entry.Name() != "llms.txt":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		list = append(list, parse(filepath.ToSlash(relative), string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 15 {
		t.Fatalf("only %d pages were found", len(list))
	}
	return list
}

var fence = regexp.MustCompile("^\\s*```(\\w*)\\s*$")

func parse(path, text string) page {
	p := page{path: path, text: text}
	var prose, code strings.Builder
	var open *block
	previous := ""
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && open == nil:
			open = &block{language: m[1], line: i + 2}
			if strings.HasPrefix(strings.TrimSpace(previous), "<!--") {
				open.mark = previous
			}
			code.Reset()
		case m != nil:
			open.text = code.String()
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			code.WriteString(line + "\n")
		default:
			prose.WriteString(line + "\n")
		}
		previous = line
	}
	p.prose = prose.String()
	return p
}

// guides are the pages for people who run the operator.
func guides(t *testing.T) []page {
	t.Helper()
	return slices.DeleteFunc(pages(t), func(p page) bool {
		return !strings.HasPrefix(p.path, "docs/") && p.path != "README.md" && p.path != "SECURITY.md" && !strings.HasPrefix(p.path, "charts/")
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
