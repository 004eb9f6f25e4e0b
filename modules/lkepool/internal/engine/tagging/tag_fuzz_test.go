package tagging

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// simTags are the tags of the operator.
var simTags = New(claims.Tags{})

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
		simTags.ClaimIn(present)
		simTags.ClaimedAtOf(present)
		simTags.KeyHash(append(present, simTags.Managed))
		if name == "" || !utf8.ValidString(name) {
			return
		}
		claimant, at := claims.Claimant{Name: name, UID: uid}, time.Unix(seconds, 0)
		written := simTags.ClaimTags(present, simTags.ID(claimant), at, []string{"more=1"})
		if got := simTags.ClaimIn(written); got != simTags.ID(claimant) {
			t.Errorf("%q: wrote %+v, read %+v", written, simTags.ID(claimant), got)
		}
		if got := simTags.ClaimedAtOf(written); !got.Equal(at) {
			t.Errorf("%q: wrote %v, read %v", written, at, got)
		}
		for _, tag := range present {
			if !simTags.OfClaim(tag) && !slices.Contains(written, tag) {
				t.Errorf("%q is lost in %q", tag, written)
			}
		}
		checkClaimValue(t, name, written)
	})
}

func checkClaimValue(t *testing.T, name string, written []string) {
	t.Helper()
	value := simTags.Value(name)
	found, prefix := 0, claims.DefaultClaimKey+"="
	for _, tag := range written {
		if strings.HasPrefix(tag, prefix) {
			found++
		}
	}
	if found != 1 || utf8.RuneCountInString(prefix+value) > claims.MaxTagLength || !utf8.ValidString(value) {
		t.Errorf("%q is claimed as %q in %q", name, value, written)
	}
	if value != name && !strings.Contains(value, claims.CutMark) {
		t.Errorf("%q is cut to %q, which may be the name of another object", name, value)
	}
}
