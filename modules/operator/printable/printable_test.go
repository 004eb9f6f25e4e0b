package printable_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

func TestNoControlCharacterIsLeft(t *testing.T) {
	for text, want := range map[string]string{
		"plain, äöü €":        "plain, äöü €",
		"\x1b]0;title\a":      " ]0;title ",
		"a\u0085b\u2028c\rd":  "a b c d",
		"\u202Egnp.exe":       " gnp.exe",
		"\xff\x9b31m":         "?31m",
		"two\nlines\tand tab": "two lines and tab",
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestABoundedTextIsNotLonger(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", 100), strings.Repeat("\xff", 100), strings.Repeat("a", 21)} {
		if got := printable.Bounded(text, 20); len(got) > 20 || !strings.HasSuffix(got, "...") {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := printable.Bounded("short", 20); got != "short" {
		t.Errorf("got %q", got)
	}
}

func TestLinesStayLines(t *testing.T) {
	var out bytes.Buffer
	if n, err := fmt.Fprintf(printable.Lines(&out), "a\tb\n\x1b[2Jc\n"); n != 10 || err != nil || out.String() != "a\tb\n [2Jc\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
}
