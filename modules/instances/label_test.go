package instances

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func TestLabelsAreReadableWhereTheyCanBe(t *testing.T) {
	for _, c := range []struct{ prefix, claimant, want string }{
		{"demo", "default-x7k2p", "demo-default-x7k2p"},
		{"a", "b", "a-b"},
		{"demo", "team.a", "demo-team.a"},
		{"demo", strings.Repeat("x", 57), "demo-" + strings.Repeat("x", 57)},
		{"demo", strings.Repeat("x", 58), "demo-" + strings.Repeat("x", 37) + "-"},
		{"Demo", "a", "demo-a-"},
		{"1demo", "a", "n1demo-a-"},
		{"demo", "a--b", "demo-a-b-"},
	} {
		got := Label(c.prefix, c.claimant)
		if cut := strings.HasSuffix(c.want, "-"); cut && (!strings.HasPrefix(got, c.want) || len(got) != cutLabel) || !cut && got != c.want {
			t.Errorf("Label(%q, %q) = %q (%d characters), want %q", c.prefix, c.claimant, got, len(got), c.want)
		}
	}
}

// A label is valid for the API and Kubernetes, always the same, and no other
// name's.
func TestNoTwoNamesHaveOneLabel(t *testing.T) {
	name := rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,70}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[A-Za-z0-9]([-A-Za-z0-9]{0,30}[A-Za-z0-9])?`).Draw(t, "prefix")
		one, two := name.Draw(t, "one"), name.Draw(t, "two")
		if rapid.Bool().Draw(t, "two is the label of one") {
			two = strings.TrimPrefix(Label(prefix, one), prefix+"-")
		}
		a, b := Label(prefix, one), Label(prefix, two)
		for _, label := range []string{a, b} {
			if len(label) < 3 || len(label) > cutLabel || !plainLabel.MatchString(label) {
				t.Fatalf("label %q", label)
			}
		}
		if one != two && a == b {
			t.Fatalf("%q and %q both have the label %q", one, two, a)
		}
	})
}

// An instance of an older version has to be found again, so the form of tags and labels is fixed.
func TestTagsAndLabelsKeepTheirForm(t *testing.T) {
	long := strings.Repeat("long-name-", 9) + "end"
	own := Config{Cluster: "demo"}.tags()
	who := own.ID(claims.Claimant{Name: long, UID: "0c2b8d6e"})
	cluster := func(name, uid string) string { return Config{Cluster: name, ClusterUID: uid}.ClusterTag() }
	for got, want := range map[string]string{
		cluster("demo", ""):    "karpenter.k8s.linode/cluster=demo",
		cluster("demo", "uid"): "karpenter.k8s.linode/cluster=demo_94661ee0",
		own.Unfinished:         "karpenter.k8s.linode/unfinished=true",
		strings.Join(own.ClaimTags(who, "team=a"), " "): "karpenter.k8s.linode/cluster=demo " +
			"karpenter.sh/nodeclaim=long-name-long-nam_9d92eccd " +
			"karpenter.k8s.linode/claim-uid=7b58fae192884929 team=a",
		Label("demo", long): "demo-long-name-long-name-long-name-long-na-7531bc8486813b8503ce",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, tag := range []string{cluster(long, ""), cluster(long, "uid"), own.NameTag(who), own.UIDTag(who)} {
		if len(tag) > claims.MaxTagLength {
			t.Errorf("%s has %d characters", tag, len(tag))
		}
	}
}

// A program that passes no records by mistake would collect by tags alone.
func TestRecordsAreRequired(t *testing.T) {
	if _, err := (Config{Cluster: "demo"}).withDefaults(); claims.KindOf(err) != claims.KindInvalid {
		t.Errorf("without records: %v", err)
	}
	if _, err := (Config{Cluster: "demo", Records: &claims.RecordMap{}}).withDefaults(); err != nil {
		t.Error(err)
	}
}
