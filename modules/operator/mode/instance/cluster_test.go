package instance_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func TestFindClusterNeedsARegionAndATokenForLinodes(t *testing.T) {
	const url = "https://api.example.com"
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant(), Tokens: map[string][]string{
		"reader": {"linodes:read_only"}, "no-linodes": {"lke:read_write"}, "no-lke": {"linodes:read_write"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, token, region, setting, words string }{
		{"all is well", "no-lke", "us-ord", "", ""},
		{"unknown region", "no-lke", "mars", "CLUSTER_REGION", `"mars"`},
		{"token without the scope", "no-linodes", "us-ord", "LINODE_TOKEN", "scope linodes:read_write and"},
		{"token that can only read", "reader", "us-ord", "LINODE_TOKEN", "linodes:read_write"},
		{"unknown token", "unknown", "us-ord", "LINODE_TOKEN", "refuses the token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			scopes := &discovery.Scopes{Next: sim.Transport()}
			client, err := linode.New(linode.Config{Token: linode.StaticToken(test.token), BaseURL: url, Transport: scopes})
			if err != nil {
				t.Fatal(err)
			}
			found, err := instance.FindCluster(t.Context(), client,
				discovery.Wanted{Name: "own", Region: test.region, URL: url, Scopes: scopes.Last})
			if test.setting == "" {
				if err != nil || found != (instance.Cluster{Name: "own", Region: "us-ord"}) {
					t.Errorf("found %+v, %v", found, err)
				}
				return
			}
			var problem *options.Error
			if !errors.As(err, &problem) || problem.Name != test.setting || !strings.Contains(err.Error(), test.words) ||
				strings.Contains(problem.Fix, "lke:") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
