package instancemode_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancemode"
)

// attachments are what two readings, one after another, show.
type attachments struct {
	firewall [2][]int
	subnet   [2]map[int][]int
	err      error
	at       [2]time.Time
	n        int
}

func (a *attachments) Protected(context.Context, int) ([]int, time.Time, error) {
	return a.firewall[a.n], a.at[a.n], a.err
}

func (a *attachments) Connected(context.Context, int) (map[int][]int, time.Time, error) {
	return a.subnet[a.n], a.at[a.n], a.err
}

// A Linode that was taken out of its firewall or VPC by hand has drifted, once two readings show it. What is not known has not drifted.
func TestLinodeThatWasDetachedByHandHasDrifted(t *testing.T) {
	const id = 1
	in, out := []int{3, id}, []int{3}
	soon := time.Now().Add(time.Minute)
	for _, test := range []struct {
		name   string
		change func(*attachments, *karpv1.NodeClaim)
		want   core.DriftReason
	}{
		{"attached", func(*attachments, *karpv1.NodeClaim) {}, ""},
		{"out of the firewall", func(a *attachments, _ *karpv1.NodeClaim) { a.firewall = [2][]int{out, out} }, cloudprovider.DriftFirewall},
		{"in a firewall that protects nothing", func(a *attachments, _ *karpv1.NodeClaim) { a.firewall = [2][]int{{}, {}} }, cloudprovider.DriftFirewall},
		{"out of the firewall in one reading", func(a *attachments, _ *karpv1.NodeClaim) { a.firewall[0] = out }, ""},
		{"out of the firewall, read once", func(a *attachments, _ *karpv1.NodeClaim) {
			a.firewall, a.at[1] = [2][]int{out, out}, a.at[0]
		}, ""},
		{"a firewall whose Linodes are not known", func(a *attachments, _ *karpv1.NodeClaim) { a.firewall = [2][]int{} }, ""},
		{"out of the VPC", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet = [2]map[int][]int{{8: out}, {8: out}}
		}, cloudprovider.DriftNetwork},
		{"in another subnet", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet = [2]map[int][]int{{8: out, 9: in}, {8: out, 9: in}}
		}, cloudprovider.DriftNetwork},
		{"a VPC that is not known", func(a *attachments, _ *karpv1.NodeClaim) { a.subnet = [2]map[int][]int{} }, ""},
		{"an API that does not answer", func(a *attachments, _ *karpv1.NodeClaim) {
			a.firewall, a.err = [2][]int{out, out}, errors.New("no answer")
		}, ""},
		{"read before the node registered", func(a *attachments, _ *karpv1.NodeClaim) {
			a.firewall, a.at = [2][]int{out, out}, [2]time.Time{soon.Add(-time.Hour), soon.Add(-time.Hour + time.Second)}
		}, ""},
		{"not registered", func(a *attachments, c *karpv1.NodeClaim) {
			a.firewall, c.Status.Conditions = [2][]int{out, out}, nil
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &attachments{firewall: [2][]int{in, in}, subnet: [2]map[int][]int{{8: in}, {8: in}}, at: [2]time.Time{soon, soon.Add(time.Minute)}}
			w := newWorld(t, known, func(c *instancemode.Config) {
				c.Engine, c.Attachments = listing{instance: instances.Instance{ID: id, Region: "us-ord"}}, a
			})
			firewall, vpc, subnet := 7, 4, 8
			l := launch(classWith(v1alpha1.LinodeNodeClassSpec{FirewallID: &firewall, VPCID: &vpc, SubnetID: &subnet}))
			l.NodeClaim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
			test.change(a, l.NodeClaim)
			listed, err := w.backend.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []core.DriftReason
			for a.n = range 2 {
				got = append(got, w.backend.Drift(t.Context(), listed[0], l))
			}
			if want := []core.DriftReason{"", test.want}; !slices.Equal(got, want) {
				t.Errorf("the drift in two readings is %q, expected %q", got, want)
			}
		})
	}
}
