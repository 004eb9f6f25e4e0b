package linodeapi

import (
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A Linode is found by its label, also when it lacks the tag, and by its tag, also when a person renamed it. No other one is.
func TestFindByLabelOrTag(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for label, tags := range map[string][]string{
		"demo-a":     {"cluster=demo", "claim=a"},
		"renamed-b":  {"cluster=demo", "claim=b"},
		"demo-c":     nil,
		"demo-other": {"claim=abc"},
	} {
		spec := linodesim.InstanceSpec{Label: label, Type: "g6-nanode-1", Image: "linode/debian12", Tags: tags}
		if ids[label], err = sim.AddInstance(spec); err != nil {
			t.Fatal(err)
		}
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(client)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		label, tag string
		want       []string
	}{
		{"demo-a", "claim=a", []string{"demo-a"}},
		{"demo-b", "claim=b", []string{"renamed-b"}},
		{"demo-c", "claim=c", []string{"demo-c"}},
		{"demo-a", "claim=b", []string{"demo-a", "renamed-b"}},
		{"demo", "claim", nil},
	} {
		found, err := b.Find(t.Context(), c.label, c.tag)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range found {
			if names = append(names, i.Name); i.InstanceID != ids[i.Name] {
				t.Errorf("%s has the ID %d, want %d", i.Name, i.InstanceID, ids[i.Name])
			}
		}
		if slices.Sort(names); !slices.Equal(names, c.want) {
			t.Errorf("label %s or tag %s: %v, want %v", c.label, c.tag, names, c.want)
		}
	}
}
