package prose_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A wording is everyday English that is not exact, and what to write instead.
type wording struct {
	words   *regexp.Regexp
	instead string
}

var (
	persons = wording{regexp.MustCompile(`\b([Ww]hoever|[Nn]o(body|[ -]one)|([Ss]ome|[Aa]ny|[Ee]very)(body|one))\b`),
		"name the actor: an operator, the caller, another client, a person, no NodeClaim"}
	objects = wording{regexp.MustCompile(`(?i)\b(something|somewhere)\b`), "name the object, the place or the change"}
	speech  = wording{regexp.MustCompile(`\b([Ss]ays|[Tt]ells|[Tt]old|[Bb]elieves)\b`),
		"a program or an object returns, reports, contains or means"}
)

// held are the wordings by the end of a file's name. Pages and charts are read by users; code is held to less.
var held = map[string][]wording{
	".md": {persons, objects, speech}, ".tmpl": {persons, objects, speech},
	".yaml": {persons, objects, speech}, ".yml": {persons, objects, speech}, ".tpl": {persons, objects, speech},
	".json": {persons, objects, speech},
	".go":   {persons}, ".txt": {persons}, ".sh": {persons},
}

// faults are the wordings in a text, each with its line and what to write instead.
func faults(text string, list []wording) []string {
	var found []string
	for number, line := range strings.Split(text, "\n") {
		for _, w := range list {
			if word := w.words.FindString(line); word != "" {
				found = append(found, fmt.Sprintf("%d: %q: %s", number+1, word, w.instead))
			}
		}
	}
	return found
}

// Texts name the actor, so that a reader whose first language is another understands them at the first reading.
func TestTextsNameTheActor(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".bin", ".local", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || held[filepath.Ext(path)] == nil || entry.Name() == "words_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		for _, fault := range faults(string(text), held[filepath.Ext(path)]) {
			t.Errorf("%s:%s", strings.TrimPrefix(filepath.ToSlash(path), root+"/"), fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 300 {
		t.Errorf("only %d files were found", checked)
	}
}

func TestEverydayWordsAreFound(t *testing.T) {
	for text, want := range map[string][]string{
		"an operator\nNobody knows": {`2: "Nobody": name the actor: an operator, the caller, another client, a person, no NodeClaim`},
		"somebody, whoever":         {`1: "somebody": name the actor: an operator, the caller, another client, a person, no NodeClaim`},
		"http.NoBody, anybodys":     nil,
	} {
		if got := faults(text, held[".go"]); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
