package claims_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// These are in the tags of instances that exist: another form would lose their
// claimants.
func TestTheFormOfTagsStaysAsItIs(t *testing.T) {
	long := strings.Repeat("long-name-", 9) + "end"
	var tags claims.Tags
	id := tags.ID(claims.Claimant{Name: "default-x7k2p", UID: "0c2b8d6e"})
	for _, c := range []struct{ what, got, want string }{
		{"a name", tags.Value("default-x7k2p"), "default-x7k2p"},
		{"a long name", tags.Value(long), "long-name-long-nam_9d92eccd"},
		{"the tag of a name", tags.NameTag(id), "karpenter.sh/nodeclaim=default-x7k2p"},
		{"the tag of a long name", tags.NameTag(tags.ID(claims.Claimant{Name: long})), "karpenter.sh/nodeclaim=long-name-long-nam_9d92eccd"},
		{"the tag of a UID", tags.UIDTag(id), "karpenter.k8s.linode/claim-uid=7b58fae192884929"},
		{"no UID", tags.UIDTag(tags.ID(claims.Claimant{Name: "default-x7k2p"})), ""},
		{"a prefix of an engine", tags.Prefix("cluster"), "karpenter.k8s.linode/cluster="},
		{"a value with another text", claims.Cut("demo", "demo\x00uid", 22), "demo_94661ee0"},
		{"no room for a hash", claims.Shorten("0123456789", 9), "0123456789"},
		{"as long as the room", claims.Shorten("0123456789", 10), "0123456789"},
		{"a key and a short value", claims.Tag("team", "a"), "team=a"},
		{"a key and a long value", claims.Tag("karpenter.sh/nodepool", long), "karpenter.sh/nodepool=long-name-long-name_9d92eccd"},
		{"a key that leaves no room", claims.Tag(strings.Repeat("k", 45), "value"), strings.Repeat("k", 45) + "=value"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if split := claims.Shorten(strings.Repeat("ä", 20), 20); !strings.HasPrefix(split, "äääää"+claims.CutMark) {
		t.Errorf("a character was cut in two: %q", split)
	}
}

func TestTheFirstTagCounts(t *testing.T) {
	var tags claims.Tags
	present := []string{"team=a", "karpenter.sh/nodeclaim=x", "karpenter.sh/nodeclaim=y"}
	if got, want := tags.ClaimIn(present), (claims.ClaimID{Value: "x"}); got != want {
		t.Errorf("the claim in %q is %+v, want %+v", present, got, want)
	}
	if got := tags.ClaimIn([]string{"team=a"}); !got.None() {
		t.Errorf("no claim is read as %+v", got)
	}
	if got := claims.Union([]string{"b", "a"}, []string{"a", "c"}, nil, []string{"b"}); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("the union is %q", got)
	}
}

func TestAClaimIsComparedByNameAndUID(t *testing.T) {
	for _, c := range []struct {
		a, b claims.ClaimID
		same bool
	}{
		{claims.ClaimID{Value: "x", UID: "1"}, claims.ClaimID{Value: "x", UID: "1"}, true},
		{claims.ClaimID{Value: "x", UID: "1"}, claims.ClaimID{Value: "x", UID: "2"}, false},
		{claims.ClaimID{Value: "x", UID: "1"}, claims.ClaimID{Value: "x"}, true},
		{claims.ClaimID{Value: "x"}, claims.ClaimID{Value: "y"}, false},
	} {
		if c.a.Is(c.b) != c.same || c.b.Is(c.a) != c.same {
			t.Errorf("%+v and %+v: the same is %t, want %t", c.a, c.b, !c.same, c.same)
		}
	}
}

// Another program on the operator's account sets its own keys: neither program reads the other's claims.
func TestKeysAreASetting(t *testing.T) {
	var operator claims.Tags
	farm := claims.Tags{ClaimKey: "build.example/job", Domain: "build.example.engine"}
	id := farm.ID(claims.Claimant{Name: "job-7", UID: "u"})
	written := []string{farm.NameTag(id), farm.UIDTag(id)}
	if want := []string{"build.example/job=job-7", "build.example.engine/claim-uid=0bfe935e70c321c7"}; !slices.Equal(written, want) {
		t.Errorf("wrote %q, want %q", written, want)
	}
	if got := farm.ClaimIn(written); got != id {
		t.Errorf("read %+v, want %+v", got, id)
	}
	if !operator.ClaimIn(written).None() || slices.ContainsFunc(written, operator.IsClaim) {
		t.Errorf("the operator's keys match %q", written)
	}
	if slices.ContainsFunc(written, func(tag string) bool { return !farm.IsClaim(tag) }) {
		t.Errorf("not all of %q are parts of the claim", written)
	}
	if got, want := farm.Prefix("cluster"), "build.example.engine/cluster="; got != want {
		t.Errorf("the prefix is %q, want %q", got, want)
	}
}

func TestKeysThatCannotBeTagsAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		tags  claims.Tags
		field string
	}{
		"the defaults":                {claims.Tags{}, ""},
		"own keys":                    {claims.Tags{ClaimKey: "build.example/job", Domain: "build.example"}, "Config.Tags.ClaimKey"},
		"own keys, apart":             {claims.Tags{ClaimKey: "job", Domain: "build.example"}, ""},
		"the longest claim key":       {claims.Tags{ClaimKey: strings.Repeat("k", 39)}, ""},
		"a claim key without a value": {claims.Tags{ClaimKey: strings.Repeat("k", 40)}, "Config.Tags.ClaimKey"},
		"a claim key with =":          {claims.Tags{ClaimKey: "a=b"}, "Config.Tags.ClaimKey"},
		"the longest domain":          {claims.Tags{Domain: strings.Repeat("d", 23)}, ""},
		"a domain without room":       {claims.Tags{Domain: strings.Repeat("d", 24)}, "Config.Tags.Domain"},
		"a domain with a comma":       {claims.Tags{Domain: "a,b"}, "Config.Tags.Domain"},
	} {
		err := c.tags.Check("configure", "Config.Tags")
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		e, ok := err.(*claims.Error) //nolint:errorlint // Check returns it itself
		if !ok || e.Kind != claims.KindInvalid || e.Field != c.field {
			t.Errorf("%s: %v, want an invalid %s", what, err, c.field)
		}
	}
}

// FuzzClaims writes the claim of any claimant and reads it back: a tag never exceeds
// its limit, and a cut value is no name of an object.
func FuzzClaims(f *testing.F) {
	f.Add("default-7wqkz", "0e4a5c7e-6f4c-4f0b-9d70-1c2b3a4d5e6f")
	f.Add("production-frontend-pool-x7k2p", "")
	f.Add("aä"+strings.Repeat("ä", 30), "u")
	f.Fuzz(func(t *testing.T, name, uid string) {
		if name == "" || !utf8.ValidString(name) {
			return
		}
		var tags claims.Tags
		id := tags.ID(claims.Claimant{Name: name, UID: uid})
		written := []string{tags.NameTag(id), tags.UIDTag(id)}
		if got := tags.ClaimIn(written); got != id {
			t.Errorf("%q: wrote %+v, read %+v", written, id, got)
		}
		for _, tag := range written {
			if utf8.RuneCountInString(tag) > claims.MaxTagLength || !utf8.ValidString(tag) {
				t.Errorf("%q is no tag", tag)
			}
		}
		if id.Value != name && !strings.Contains(id.Value, claims.CutMark) {
			t.Errorf("%q is cut to %q, which may be the name of another object", name, id.Value)
		}
	})
}
