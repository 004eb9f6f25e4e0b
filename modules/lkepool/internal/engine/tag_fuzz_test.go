package engine

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/claimtag"
)

// FuzzTags reads claims out of any tags and writes one over them: no other claimant's tag survives, no other tag is lost, and what was
// written is read back. Names that differ never become one tag.
func FuzzTags(f *testing.F) {
	f.Add("team=a", "default-7wqkz", "0e4a5c7e-6f4c-4f0b-9d70-1c2b3a4d5e6f", int64(1_770_000_000))
	f.Add("karpenter.sh/nodeclaim=x\nkarpenter.sh/nodeclaim=y\nkarpenter.k8s.linode/claimed-at=-9223372036854775808",
		"production-frontend-pool-x7k2p", "", int64(0))
	f.Add("karpenter.k8s.linode/claimed-at=99999999999999999999\nkarpenter.k8s.linode/pool-key=0123456789abcdef",
		"production-fronten-c5dd4671", "u", int64(-1))
	f.Add("karpenter.sh/nodeclaim=\nkarpenter.k8s.linode/claim-uid=\n=\n\x00", "production-fronten_c5dd4671", "u", int64(1))
	f.Add("team=a", "aä"+strings.Repeat("ä", 30), "u", int64(1))
	f.Fuzz(func(t *testing.T, lines, name, uid string, seconds int64) {
		present := strings.Split(lines, "\n")
		claimIn(present)
		claimedAtOf(present)
		Pool{Tags: append(present, ManagedTag)}.keyHash()
		if name == "" || !utf8.ValidString(name) {
			return
		}
		claimant, at := Claimant{Name: name, UID: uid}, time.Unix(seconds, 0)
		written := claimTags(present, claimant.id(), at, []string{"more=1"})
		if got := claimIn(written); got != claimant.id() {
			t.Errorf("%q: wrote %+v, read %+v", written, claimant.id(), got)
		}
		if got := claimedAtOf(written); !got.Equal(at) {
			t.Errorf("%q: wrote %v, read %v", written, at, got)
		}
		for _, tag := range present {
			if !claimTag(tag) && !slices.Contains(written, tag) {
				t.Errorf("%q is lost in %q", tag, written)
			}
		}
		checkClaimValue(t, name, written)
	})
}

func checkClaimValue(t *testing.T, name string, written []string) {
	t.Helper()
	value := ClaimValue(name)
	claims := 0
	for _, tag := range written {
		if strings.HasPrefix(tag, claimtag.Name) {
			claims++
		}
	}
	if claims != 1 || utf8.RuneCountInString(claimtag.Name+value) > MaxTagLength || !utf8.ValidString(value) {
		t.Errorf("%q is claimed as %q in %q", name, value, written)
	}
	if value != name && !strings.Contains(value, claimtag.CutMark) {
		t.Errorf("%q is cut to %q, which may be the name of another object", name, value)
	}
}
