package instance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
)

// attachments has two readings, one after another.
type attachments struct {
	subnet [2]map[int][]int
	err    error
	at     [2]time.Time
	n      int
}

func (a *attachments) Connected(context.Context, int) (map[int][]int, time.Time, error) {
	return a.subnet[a.n], a.at[a.n], a.err
}

// A Linode that was taken out of its VPC by hand has drifted, once two readings show it. Unknown values never count as drift.
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
		{"out of the VPC", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet = [2]map[int][]int{{8: out}, {8: out}}
		}, instance.DriftNetwork},
		{"in a VPC without Linodes", func(a *attachments, _ *karpv1.NodeClaim) { a.subnet = [2]map[int][]int{{}, {}} },
			instance.DriftNetwork},
		{"out of the VPC in one reading", func(a *attachments, _ *karpv1.NodeClaim) { a.subnet[0] = map[int][]int{8: out} }, ""},
		{"out of the VPC, read once", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet, a.at[1] = [2]map[int][]int{{8: out}, {8: out}}, a.at[0]
		}, ""},
		{"in another subnet", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet = [2]map[int][]int{{8: out, 9: in}, {8: out, 9: in}}
		}, instance.DriftNetwork},
		{"a VPC that is not known", func(a *attachments, _ *karpv1.NodeClaim) { a.subnet = [2]map[int][]int{} }, ""},
		{"an API that does not answer", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet, a.err = [2]map[int][]int{{8: out}, {8: out}}, errors.New("no answer")
		}, ""},
		{"read before the node registered", func(a *attachments, _ *karpv1.NodeClaim) {
			a.subnet, a.at = [2]map[int][]int{{8: out}, {8: out}}, [2]time.Time{soon.Add(-time.Hour), soon.Add(-time.Hour + time.Second)}
		}, ""},
		{"not registered", func(a *attachments, c *karpv1.NodeClaim) {
			a.subnet, c.Status.Conditions = [2]map[int][]int{{8: out}, {8: out}}, nil
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &attachments{subnet: [2]map[int][]int{{8: in}, {8: in}}, at: [2]time.Time{soon, soon.Add(time.Minute)}}
			w := newWorld(t, known, func(c *instance.Config) {
				c.Engine, c.Attachments = listing{instance: instances.Instance{Node: claims.Node{InstanceID: id, Region: "us-ord"}}}, a
			})
			vpc, subnet := 4, 8
			l := launch(classWith(v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet}))
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

// A missing firewall causes drift only if the API refuses to attach the Linode to the firewall in place.
func TestLinodeThatCannotBeAttachedToItsFirewallHasDrifted(t *testing.T) {
	const id, firewall = 1, 7
	for _, test := range []struct {
		name    string
		class   v1alpha1.LinodeNodeClassSpec
		refused bool
		want    core.DriftReason
	}{
		{"attached in place", v1alpha1.LinodeNodeClassSpec{FirewallID: new(firewall)}, false, ""},
		{"refused", v1alpha1.LinodeNodeClassSpec{FirewallID: new(firewall)}, true, cloudprovider.DriftFirewall},
		{"the class has another by now", v1alpha1.LinodeNodeClassSpec{FirewallID: new(firewall + 1)}, true, ""},
		{"the class has none by now", v1alpha1.LinodeNodeClassSpec{}, true, ""},
	} {
		l := launch(classWith(test.class))
		w := newWorld(t, known, func(c *instance.Config) {
			c.Engine = listing{instance: instances.Instance{Node: claims.Node{InstanceID: id, Region: "us-ord"}}}
			c.FirewallRefused = func(uid types.UID, of int) bool { return test.refused && uid == l.NodeClaim.UID && of == firewall }
		})
		listed, err := w.backend.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := w.backend.Drift(t.Context(), listed[0], l); got != test.want {
			t.Errorf("%s: the drift is %q, expected %q", test.name, got, test.want)
		}
	}
}

func TestProtectedInterfacesAreThoseOfTheClass(t *testing.T) {
	vpc, both := 4, []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}, {Type: v1alpha1.InterfaceVPC}}
	for want, spec := range map[int]v1alpha1.LinodeNodeClassSpec{1: {VPCID: &vpc}, 2: {VPCID: &vpc, Interfaces: both}} {
		if got := instance.ProtectedInterfaces(spec); got != want {
			t.Errorf("%d interfaces, expected %d", got, want)
		}
	}
	if got := instance.ProtectedInterfaces(v1alpha1.LinodeNodeClassSpec{}); got != 1 {
		t.Errorf("%d interfaces of a class without any of its own, expected the public one", got)
	}
}
