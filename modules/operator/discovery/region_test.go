package discovery_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

func TestFindRegionNeedsARegionAndATokenForLinodes(t *testing.T) {
	for _, test := range []struct{ name, token, region, setting, words string }{
		{"all is well", "no-lke", "us-ord", "", ""},
		{"unknown region", "no-lke", "mars", "CLUSTER_REGION", `"mars"`},
		{"token without the scope", "no-linodes", "us-ord", "LINODE_TOKEN", "scope linodes:read_write and"},
		{"token that can only read", "reader", "us-ord", "LINODE_TOKEN", "linodes:read_write"},
		{"unknown token", "unknown", "us-ord", "LINODE_TOKEN", "refuses the token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.token)
			found, err := discovery.FindRegion(t.Context(), w.client,
				discovery.Wanted{Name: "own", Region: test.region, URL: url, Scopes: w.scopes.Last})
			if test.setting == "" {
				if err != nil || found.Region != "us-ord" || found.Name != "own" || found.ID != 0 {
					t.Errorf("found %+v, %v", found, err)
				}
				return
			}
			var problem *setting.Error
			if !errors.As(err, &problem) || problem.Name != test.setting || !strings.Contains(err.Error(), test.words) ||
				strings.Contains(problem.Fix, "lke:") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
