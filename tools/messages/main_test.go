package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestTextsAreFoundWithTheirKinds(t *testing.T) {
	const source = "package p\n\nimport \"a/b of c d\"\n\ntype s struct {\n\tF string `json:\"a b c d\"`\n}\n\n" +
		"func f(log logger) error {\n\tlog.Info(\"the pool was deleted\", \"pool\", 1)\n" +
		"\tg(s{Message: \"the pool \" + name + \" is\" + \" locked\"})\n\treturn fmt.Errorf(\"reading pool %d: %w\", 1, err)\n}\n"
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []message{
		{"log", "the pool was deleted", "p.go:10"},
		{"message", "the pool {name} is locked", "p.go:11"},
		{"error", "reading pool %d: %w", "p.go:12"},
	}
	if got := inSource(set, file, ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	values := inValues("# -- Number of replicas.\n# Two by default.\nreplicas: 2\n# no description\n", "values.yaml")
	if want := []message{{"chart value", "Number of replicas. Two by default.", "values.yaml:1"}}; !slices.Equal(values, want) {
		t.Errorf("got %q, want %q", values, want)
	}
}

func TestTheTableHasTheMessagesOfTheRepository(t *testing.T) {
	all, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := write(&out, all); err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{"## error: ", "## log: ", "## message: ", "## help: ", "## chart value: "} {
		if !strings.Contains(out.String(), heading) {
			t.Errorf("no %q in the table of %d messages", heading, len(all))
		}
	}
}
