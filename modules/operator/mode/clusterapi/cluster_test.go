package clusterapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func TestFindNamesTheSettingThatIsWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		scopes, needs []string
		region        string
		setting, says string // "" = no error
	}{
		"may read": {scopes: []string{"linodes:read_only"}},
		"may read what a feature reads": {
			scopes: []string{"linodes:read_only", "account:read_only"}, needs: []string{"account:read_only"}},
		"may write what a feature reads": {
			scopes: []string{"linodes:read_write", "account:read_write"}, needs: []string{"account:read_only"}},
		"no such region": {
			scopes: []string{"linodes:read_only"}, region: "us-nowhere", setting: "CLUSTER_REGION", says: "us-nowhere"},
		"may not read Linodes": {
			scopes: []string{"lke:read_only"}, setting: "LINODE_TOKEN", says: "linodes:read_only"},
		"may not read what a feature reads": {
			scopes: []string{"linodes:read_only"}, needs: []string{"account:read_only"}, setting: "LINODE_TOKEN", says: "account:read_only"},
	} {
		t.Run(name, func(t *testing.T) {
			sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant(),
				Tokens: map[string][]string{"it": tt.scopes}})
			if err != nil {
				t.Fatal(err)
			}
			scopes := &discovery.Scopes{Next: sim.Transport()}
			client, err := linode.New(linode.Config{Token: linode.StaticToken("it"), BaseURL: "https://api.example.com", Transport: scopes})
			if err != nil {
				t.Fatal(err)
			}
			wanted := discovery.Wanted{Name: "fleet", Region: "us-ord", Scopes: scopes.Last, Needs: tt.needs}
			if tt.region != "" {
				wanted.Region = tt.region
			}
			_, err = Find(t.Context(), client, wanted)
			var wrong *options.Error
			switch {
			case tt.setting == "" && err != nil:
				t.Fatal(err)
			case tt.setting != "" && (!errors.As(err, &wrong) || wrong.Name != tt.setting || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("got %v, want an error of %s with %q", err, tt.setting, tt.says)
			}
		})
	}
}
