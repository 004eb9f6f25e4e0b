package allowlist_test

import (
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/allowlist"
)

const everything = `{"images": ["linode/debian*", "private/7"], "firewalls": [1, 2], "vpcs": [3],
	"authorizedKeys": ["ssh-ed25519 AAAA alice@example.com", "from=\"10.0.0.1\" ssh-ed25519 BBBB"], "authorizedUsers": ["alice"]}`

// A class names only what the administrator allows; an empty list allows everything.
func TestClassesNameOnlyWhatIsAllowed(t *testing.T) {
	firewall := func(id int) v1alpha1.LinodeNodeClassSpec { return v1alpha1.LinodeNodeClassSpec{FirewallID: &id} }
	with := func(change func(*v1alpha1.LinodeNodeClassSpec)) v1alpha1.LinodeNodeClassSpec {
		spec := firewall(1)
		change(&spec)
		return spec
	}
	for _, test := range []struct {
		name, list string
		spec       v1alpha1.LinodeNodeClassSpec
		image      string
		want       []string // words of the refusal, its field first
	}{
		{"no list", "", v1alpha1.LinodeNodeClassSpec{AuthorizedUsers: []string{"mallory"}}, "private/666", nil},
		{"an empty list", "{}", firewall(9), "private/666", nil},
		{"an image", everything, firewall(1), "linode/debian12", nil},
		{"another image", everything, firewall(1), "private/70", []string{"spec.image", `"private/70"`, "linode/debian*, private/7"}},
		{"another image of a selector", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) {
			s.ImageSelector = &v1alpha1.ImageSelector{Label: "k-*"}
		}), "private/70", []string{"spec.imageSelector"}},
		{"a selector that found nothing yet", everything, firewall(1), "", nil},
		{"another firewall", everything, firewall(9), "private/7", []string{"spec.firewallID", `"9"`, "1, 2"}},
		{"no firewall", everything, v1alpha1.LinodeNodeClassSpec{}, "private/7", []string{"spec.firewallID", "is not set", "1, 2"}},
		{"another VPC", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) { s.VPCID = new(4) }), "private/7", []string{"spec.vpcID", "3"}},
		{"the VPC", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) { s.VPCID = new(3) }), "private/7", nil},
		{"a key with another comment", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) {
			s.AuthorizedKeys = []string{"ssh-ed25519 AAAA mallory"}
		}), "private/7", nil},
		{"another key with the comment", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) {
			s.AuthorizedKeys = []string{"ssh-ed25519 AAAA", "ssh-ed25519 CCCC alice@example.com"}
		}), "private/7", []string{"spec.authorizedKeys[1]"}},
		{"another key behind the options of one", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) {
			s.AuthorizedKeys = []string{`from="10.0.0.1" ssh-ed25519 CCCC`}
		}), "private/7", []string{"spec.authorizedKeys[0]"}},
		{"another user", everything, with(func(s *v1alpha1.LinodeNodeClassSpec) { s.AuthorizedUsers = []string{"alice", "mallory"} }),
			"private/7", []string{"spec.authorizedUsers[1]", `"mallory"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := allowlist.Parse(test.list)
			if err != nil {
				t.Fatal(err)
			}
			found := list.Check(test.spec, test.image)
			if (found == nil) != (test.want == nil) {
				t.Fatalf("the refusal is %+v", found)
			}
			for _, word := range test.want {
				if !strings.Contains(found.Field+" "+found.Text, word) {
					t.Errorf("the refusal %+v lacks %q", found, word)
				}
			}
			if len(test.want) > 0 && found.Field != test.want[0] {
				t.Errorf("the field is %s", found.Field)
			}
		})
	}
}

func TestTextsThatAreNoListAreRefused(t *testing.T) {
	for _, text := range []string{`[]`, `{"image": []}`, `{"firewalls": ["1"]}`, `{} {}`, `{"images": ["[a"]}`, `{"images": [""]}`} {
		if list, err := allowlist.Parse(text); err == nil {
			t.Errorf("%s is read as %+v", text, list)
		}
	}
}
