package cloudprovider_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// A list may lag, or lack a field: a difference counts once the node itself shows it.
func TestADifferenceNeedsTwoReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = "linode://5" })
		stopped := claimed(5, claim.Name, func(n *lkepool.Node) { n.Health = claims.Stopped })
		direct, reads := claimed(5, claim.Name), 0
		pools := &scripted{t: t,
			list: func() ([]lkepool.Node, error) { return []lkepool.Node{stopped}, nil },
			get:  func(int) (lkepool.Node, error) { reads++; return direct, nil },
		}
		p := provider(t, "standard", pools, readyClass(), nodePool(nil))
		expect := func(want core.DriftReason, wantReads int) {
			t.Helper()
			if reason, err := p.IsDrifted(t.Context(), claim); err != nil || reason != want || reads != wantReads {
				t.Errorf("%q, %v after %d reads; want %q after %d", reason, err, reads, want, wantReads)
			}
		}
		expect("", 1)
		direct = stopped
		expect(cloudprovider.DriftInstanceStopped, 2)
		expect(cloudprovider.DriftInstanceStopped, 2)
		time.Sleep(2 * time.Minute)
		stopped = claimed(5, claim.Name)
		expect("", 2)
	})
}

// LKE upgrades the control plane of a Standard cluster; its nodes stay as they are.
func TestAStandardNodeOfAnOlderMinorVersionHasDrifted(t *testing.T) {
	for name, tt := range map[string]struct {
		tier, kubelet, cluster string
		age                    time.Duration
		want                   core.DriftReason
	}{
		"as the cluster":              {"standard", "v1.35.2", "1.35", 2 * time.Hour, ""},
		"after an upgrade":            {"standard", "v1.34.6", "1.35", 2 * time.Hour, cloudprovider.DriftKubernetesVersion},
		"of another major version":    {"standard", "v1.36.0", "2.0", 2 * time.Hour, cloudprovider.DriftKubernetesVersion},
		"newer than what is known":    {"standard", "v1.36.0", "1.35", 2 * time.Hour, ""},
		"just joined":                 {"standard", "v1.34.6", "1.35", 59 * time.Minute, ""},
		"Enterprise, by its pool":     {"enterprise", "v1.34.6+lke1", "v1.35.0+lke1", 2 * time.Hour, ""},
		"a kubelet that is not known": {"standard", "", "1.35", 2 * time.Hour, ""},
		"a version that is not known": {"standard", "v1.34.6", "", 2 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim := nodeClaim(func(c *karpv1.NodeClaim) {
				c.Status.ProviderID, c.Status.NodeName = "linode://5", "lke1-2-5"
				c.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
				for i := range c.Status.Conditions {
					c.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-tt.age))
				}
			})
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke1-2-5"}, Spec: corev1.NodeSpec{ProviderID: "linode://5"}}
			node.Status.NodeInfo.KubeletVersion = tt.kubelet
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil), node).Build()
			pools := &scripted{t: t, list: func() ([]lkepool.Node, error) { return []lkepool.Node{claimed(5, claim.Name)}, nil }}
			backend := over(pools, tier(tt.tier), func(c *lke.Config) { c.ControlPlaneVersion = func(context.Context) string { return tt.cluster } })
			p := cloudprovider.New(kube, backend, market(t), cloudprovider.Config{Region: "us-ord"})
			if got, err := p.IsDrifted(t.Context(), claim); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Core replaces what has drifted within the budgets of the NodePool, and takes it back when there is no reason any more.
func TestANodeDriftsWhileMaintenanceOfItsHostIsPending(t *testing.T) {
	claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = "linode://5" })
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
	pools := &scripted{t: t, list: func() ([]lkepool.Node, error) { return []lkepool.Node{claimed(5, claim.Name)}, nil }}
	pending := 0
	p := cloudprovider.New(kube, over(pools), market(t), cloudprovider.Config{
		Region: "us-ord", HostMaintenance: func(instanceID int) bool { return instanceID == pending },
	})
	for id, want := range map[int]core.DriftReason{0: "", 5: cloudprovider.DriftHostMaintenance, 6: ""} {
		pending = id
		if got, err := p.IsDrifted(t.Context(), claim); err != nil || got != want {
			t.Errorf("pending for %d: %q, %v, want %q", id, got, err, want)
		}
	}
}
