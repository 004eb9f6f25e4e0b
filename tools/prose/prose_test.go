package prose_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const root = "../.."

// widest is the most columns of a line of Go.
const widest = 140

// A habit is a turn of speech that hides its noun: a reader has to look back for it. Comments with many of them are read twice.
type habit struct {
	words []string
	most  float64 // per 1,000 words of comments; controller-runtime has 0.15, 0 and 0
}

var habits = []habit{{[]string{"those"}, 0.4}, {[]string{"what", "is"}, 0.1}, {[]string{"is", "none"}, 0.05}}

// A prose holds the words of // comments, each with its file and line.
type prose struct {
	words, places []string
}

// found returns where a habit stands.
func (p prose) found(h habit) (places []string) {
	for i := range p.words {
		if i+len(h.words) <= len(p.words) && slices.Equal(p.words[i:i+len(h.words)], h.words) {
			places = append(places, p.places[i])
		}
	}
	return places
}

// add appends the words of a file's comments. Directives, such as nolint and markers of generators, are not prose.
func (p *prose) add(set *token.FileSet, file *ast.File, name string) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			text, line := strings.CutPrefix(comment.Text, "//")
			if !line || directive(text) {
				continue
			}
			at := fmt.Sprintf("%s:%d", name, set.Position(comment.Slash).Line)
			for word := range strings.FieldsSeq(text) {
				p.words = append(p.words, strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })))
				p.places = append(p.places, at)
			}
		}
	}
}

// directive reports whether the text of a comment is for a program, such as //go:embed, //nolint:x and // +kubebuilder:x.
func directive(text string) bool {
	return strings.HasPrefix(text, "nolint") || strings.HasPrefix(text, "go:") || strings.HasPrefix(strings.TrimSpace(text), "+")
}

// wide returns the lines with more than widest columns, without lines that a raw string or a marker of a generator fills.
func wide(set *token.FileSet, file *ast.File, name string, text []byte) (places []string) {
	raw := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(literal.Value, "`") {
			for line := set.Position(literal.Pos()).Line; line <= set.Position(literal.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for number := 1; lines.Scan(); number++ {
		marker, _ := strings.CutPrefix(strings.TrimSpace(lines.Text()), "//")
		if utf8.RuneCount(lines.Bytes()) > widest && !raw[number] && !strings.HasPrefix(strings.TrimSpace(marker), "+kubebuilder") {
			places = append(places, fmt.Sprintf("%s:%d", name, number))
		}
	}
	return places
}

// goModules lists the folders of modules/ and tools.
func goModules(t *testing.T) []string {
	t.Helper()
	mods, err := filepath.Glob(filepath.Join(root, "modules", "*", "go.mod"))
	if err != nil || len(mods) < 5 {
		t.Fatalf("only %d modules were found: %v", len(mods), err)
	}
	folders := []string{"tools"}
	for _, mod := range mods {
		folders = append(folders, "modules/"+filepath.Base(filepath.Dir(mod)))
	}
	return folders
}

// writtenGo calls yield with each file of Go below a folder that people write.
func writtenGo(t *testing.T, folder string, yield func(set *token.FileSet, file *ast.File, name string, text []byte)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".bin", ".local", "node_modules", "testdata"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		name, err := filepath.Rel(root, path)
		yield(set, file, filepath.ToSlash(name), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A sentence that names its noun is understood at the first reading.
func TestCommentsNameTheirNouns(t *testing.T) {
	var p prose
	for _, folder := range goModules(t) {
		writtenGo(t, folder, func(set *token.FileSet, file *ast.File, name string, _ []byte) { p.add(set, file, name) })
	}
	for _, h := range habits {
		places := p.found(h)
		rate := float64(len(places)) * 1000 / float64(max(len(p.words), 1))
		t.Logf("%q stands %.2f times per 1,000 words of %d", strings.Join(h.words, " "), rate, len(p.words))
		if rate > h.most {
			t.Errorf("%q stands %.2f times per 1,000 words of comments, more than %.2f: repeat the noun instead\n%s",
				strings.Join(h.words, " "), rate, h.most, strings.Join(places, "\n"))
		}
	}
}

func TestGoIsFormatted(t *testing.T) {
	for _, folder := range goModules(t) {
		t.Run(folder, func(t *testing.T) {
			writtenGo(t, folder, func(_ *token.FileSet, _ *ast.File, name string, text []byte) {
				if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
					t.Errorf("%s: run gofmt -w on it (%v)", name, err)
				}
			})
		})
	}
}

func TestLinesAreAtMost140Columns(t *testing.T) {
	for _, folder := range goModules(t) {
		t.Run(folder, func(t *testing.T) {
			writtenGo(t, folder, func(set *token.FileSet, file *ast.File, name string, text []byte) {
				for _, place := range wide(set, file, name, text) {
					t.Errorf("%s: more than %d columns", place, widest)
				}
			})
		})
	}
}

func TestHabitsAndWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", widest)
	text := "package p\n\n// Sweep is\n// none; those go. //nolint is not one.\nvar a = 1 // What is due\nvar n = 2 //nolint:what,is\n\n" +
		"// +kubebuilder:those=" + long + "\n// " + long + "\nvar b = `is none\n" + long +
		long + "`\n\ntype c struct {\n\td int `ask:\"" + long + "\"`\n}\n"
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var p prose
	p.add(set, file, "p.go")
	for i, want := range []string{"p.go:4", "p.go:5", "p.go:3"} {
		if got := p.found(habits[i]); !slices.Equal(got, []string{want}) {
			t.Errorf("%q at %q, expected %s", habits[i].words, got, want)
		}
	}
	if got := wide(set, file, "p.go", []byte(text)); !slices.Equal(got, []string{"p.go:9"}) {
		t.Errorf("wide lines at %q", got)
	}
}
