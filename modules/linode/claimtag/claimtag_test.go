package claimtag_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
)

// These are in the tags of instances that exist: another form would lose their
// claimants.
func TestTheFormOfTagsStaysAsItIs(t *testing.T) {
	long := strings.Repeat("long-name-", 9) + "end"
	for _, c := range []struct{ what, got, want string }{
		{"a name", claimtag.Value("default-x7k2p"), "default-x7k2p"},
		{"a long name", claimtag.Value(long), "long-name-long-nam_9d92eccd"},
		{"a UID", claimtag.UIDValue("0c2b8d6e"), "7b58fae192884929"},
		{"no UID", claimtag.UIDValue(""), ""},
		{"a value with another text", claimtag.Cut("demo", "demo\x00uid", 22), "demo_94661ee0"},
		{"no room for a hash", claimtag.Shorten("0123456789", 9), "0123456789"},
		{"as long as the room", claimtag.Shorten("0123456789", 10), "0123456789"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if split := claimtag.Shorten(strings.Repeat("ä", 20), 20); !strings.HasPrefix(split, "äääää"+claimtag.CutMark) {
		t.Errorf("a character was cut in two: %q", split)
	}
}

func TestTheFirstTagCounts(t *testing.T) {
	tags := []string{"team=a", claimtag.Name + "x", claimtag.Name + "y"}
	if got := claimtag.ValueOf(tags, claimtag.Name); got != "x" {
		t.Errorf("the claim of %q is %q", tags, got)
	}
	if got := claimtag.ValueOf(tags, claimtag.UID); got != "" {
		t.Errorf("the UID of %q is %q", tags, got)
	}
	if got := claimtag.Union([]string{"b", "a"}, []string{"a", "c"}, nil, []string{"b"}); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("the union is %q", got)
	}
}
