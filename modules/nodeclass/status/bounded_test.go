package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// The stored text stays small and printable with any names of objects in the API, and with any number of bad tags.
func TestTextsOfTheAPIAreBoundedInTheStatus(t *testing.T) {
	hostile := "\x00\x1b[31m\n" + strings.Repeat("ä\xff\u202e", 1<<20)
	lookup := anAccount()
	lookup.firewalls[7] = status.Firewall{Label: hostile, Status: "disabled"}
	lookup.images["private/7"] = status.Image{Label: hostile, Available: true, CloudInit: true, Deprecated: true}
	lookup.groups[7] = status.PlacementGroup{Label: hostile, Region: hostile}
	var tags []string
	for n := range 50 {
		tags = append(tags, fmt.Sprintf("karpenter.sh/%s-%02d", strings.Repeat("x", 30), n))
	}
	for name, cluster := range map[string]status.Cluster{"enterprise": enterprise, "instance": instance} {
		t.Run(name, func(t *testing.T) {
			class := &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{
				FirewallID: ptr(7), Image: "private/7", PlacementGroup: &v1alpha1.PlacementGroup{ID: 7}, Tags: tags,
			}}
			result := status.Evaluate(t.Context(), class, cluster, lookup)
			for _, condition := range result.Conditions {
				if len(condition.Message) > 1000 || len(condition.Reason) > 100 ||
					strings.ContainsFunc(condition.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%s: %d bytes: %.200q", condition.Type, len(condition.Message), condition.Message)
				}
			}
			status.Apply(class, result)
			text, err := json.Marshal(class.Status)
			if err != nil || len(text) > 10_000 {
				t.Errorf("the status has %d bytes: %v", len(text), err)
			}
			if result.Firewall == nil || len(result.Firewall.Label) == 0 || len(result.Firewall.Label) > 128 {
				t.Errorf("the firewall's name is %+.200v", result.Firewall)
			}
		})
	}
}

func TestTheMessageAboutNodeClaimsIsBounded(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	var names []string
	for n := range 5 {
		names = append(names, fmt.Sprintf("%s-%d", strings.Repeat("n", 250), n))
	}
	status.ApplyWaiting(class, names)
	for _, condition := range class.Status.Conditions {
		if len(condition.Message) > 1000 {
			t.Errorf("%d bytes", len(condition.Message))
		}
	}
}
