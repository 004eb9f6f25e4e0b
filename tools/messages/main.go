// Command messages prints every text that a user or an operator may read, as one table for reading in one sitting: errors, events,
// conditions, logs, help and output of the modules' programs, and the descriptions of the charts' values.
//
//	go run ./messages [ROOT] > messages.md
//
// It reads the source of modules/ below ROOT and resolves nothing: a part of a text that is not a literal stands as {expression}. A text
// has at least three words; identifiers and formats have fewer. Tests, generated files, testdata and the simulator, which answers in the
// API's words, are left out. A file that is not valid Go ends the command with status 1.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// message is a text with its kind and its place.
type message struct{ kind, text, place string }

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	all, err := read(root)
	if err == nil {
		err = write(os.Stdout, all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

// read collects the messages of the modules' sources, without tests, generated files and the simulator's API texts, and of the charts.
func read(root string) (all []message, err error) {
	set := token.NewFileSet()
	err = filepath.WalkDir(filepath.Join(root, "modules"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testdata", "linodesim"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && !ast.IsGenerated(file) {
			all = append(all, inSource(set, file, root)...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	charts, err := filepath.Glob(filepath.Join(root, "charts", "*", "values.yaml"))
	for _, path := range charts {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, inValues(string(text), relative(root, path))...)
	}
	return all, err
}

func relative(root, path string) string {
	if name, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(name)
	}
	return path
}

// kinds are the kinds of messages by the name of the function or field that takes the text. The first entry with the name counts.
var kinds = []struct{ kind, names string }{
	{"error", "Errorf New Wrap Wrapf Errof errorf refuse invalid problem conflict"},
	{"log", "Info Error V Warn"},
	{"event", "Event Eventf Publish publish"},
	{"condition", "SetFalse SetTrue SetTrueWithReason SetUnknown SetUnknownWithReason"},
	{"message", "Message message Reason reason Text text"},
	{"help", "Help help Usage usage Description description Short Long String Bool Duration Int Var StringVar BoolVar DurationVar"},
	{"output", "Printf Println Fprintf Fprintln Fprint Sprintf WriteString"},
}

func kindOf(name string) string {
	for _, k := range kinds {
		if slices.Contains(strings.Fields(k.names), name) {
			return k.kind
		}
	}
	return "text"
}

// inSource finds the texts of a file: literals with at least three words. A sum of literals is one text.
func inSource(set *token.FileSet, file *ast.File, root string) (found []message) {
	var inside func(node ast.Node, kind string)
	inside = func(node ast.Node, kind string) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // a struct tag is no text
				if n.Type != nil {
					inside(n.Type, kind)
				}
				return false
			case *ast.CallExpr:
				inside(n.Fun, kind)
				for _, argument := range n.Args {
					inside(argument, cmp.Or(named(n.Fun), kind))
				}
				return false
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					inside(n.Value, kindOf(key.Name))
					return false
				}
			case *ast.BinaryExpr, *ast.BasicLit:
				text, literal := joined(n.(ast.Expr))
				if literal && len(strings.Fields(text)) > 2 {
					place := set.Position(n.Pos())
					found = append(found, message{kind, text, fmt.Sprintf("%s:%d", relative(root, place.Filename), place.Line)})
				}
				return !literal
			}
			return true
		})
	}
	inside(file, "text")
	return found
}

// named returns the kind of the texts that a function takes, "" for a conversion or a function that is not known.
func named(function ast.Expr) string {
	name := ""
	switch f := function.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	if kind := kindOf(name); kind != "text" {
		return kind
	}
	return ""
}

// joined returns the text of a literal or of a sum with a literal in it.
func joined(expression ast.Expr) (text string, literal bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, one := joined(e.X)
		right, other := joined(e.Y)
		return left + right, one || other
	case *ast.Ident:
		return "{" + e.Name + "}", false
	case *ast.SelectorExpr:
		return "{" + e.Sel.Name + "}", false
	}
	return "{...}", false
}

var described = regexp.MustCompile(`^\s*# -- (.*)$`)

// inValues finds the descriptions of a chart's values: a comment that begins with "# --", with the lines that follow.
func inValues(text, place string) (found []message) {
	lines := bufio.NewScanner(strings.NewReader(text))
	open := false
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if m := described.FindStringSubmatch(line); m != nil {
			found, open = append(found, message{"chart value", m[1], fmt.Sprintf("%s:%d", place, number)}), true
		} else if more, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is && open {
			found[len(found)-1].text += " " + more
		} else {
			open = false
		}
	}
	return found
}

// write prints a table for each kind, in the order of the places.
func write(w io.Writer, all []message) error {
	byKind := map[string][]message{}
	for _, m := range all {
		byKind[m.kind] = append(byKind[m.kind], m)
	}
	var out strings.Builder
	for _, kind := range []string{"error", "event", "condition", "message", "log", "output", "help", "chart value", "text"} {
		if len(byKind[kind]) == 0 {
			continue
		}
		fmt.Fprintf(&out, "## %s: %d\n\n| text | place |\n|---|---|\n", kind, len(byKind[kind]))
		for _, m := range byKind[kind] {
			fmt.Fprintf(&out, "| %s | %s |\n", strings.NewReplacer("|", `\|`, "\n", " ⏎ ").Replace(m.text), m.place)
		}
		fmt.Fprintln(&out)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
