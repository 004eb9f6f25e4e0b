package cloudprovider_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider/reboot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Core itself reads the policies: it refuses a set without exactly one fallback, which must replace.
func TestWhatIsDoneAboutABrokenNode(t *testing.T) {
	ctx := coreoptions.ToContext(t.Context(), &coreoptions.Options{FeatureGates: coreoptions.FeatureGates{NodeRepair: true}})
	matcher, err := health.NewRepairPolicyMatcher(ctx, provider(t, "standard", &scripted{t: t}))
	if err != nil {
		t.Fatal(err)
	}
	broken := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, since time.Duration) []corev1.NodeCondition {
		at := metav1.NewTime(time.Unix(0, 0).Add(-since))
		return []corev1.NodeCondition{{Type: kind, Status: status, Reason: reason, LastTransitionTime: at}}
	}
	for name, c := range map[string]struct {
		conditions []corev1.NodeCondition
		action     core.RepairAction
		forced     bool
	}{
		"a silent kubelet":                {broken("Ready", "Unknown", "NodeStatusUnknown", 10*time.Minute), core.RebootNode, true},
		"silent, for any other reason":    {broken("Ready", "Unknown", "", 10*time.Minute), core.RebootNode, true},
		"silent for a moment":             {broken("Ready", "Unknown", "NodeStatusUnknown", 9*time.Minute), "", false},
		"not ready":                       {broken("Ready", "False", "KubeletNotReady", 10*time.Minute), core.ReplaceNode, false},
		"ready":                           {broken("Ready", "True", "KubeletReady", time.Hour), "", false},
		"a kernel deadlock":               {broken("KernelDeadlock", "True", "DockerHung", 5*time.Minute), core.RebootNode, true},
		"no kernel deadlock":              {broken("KernelDeadlock", "False", "KernelHasNoDeadlock", time.Hour), "", false},
		"a read-only filesystem":          {broken("ReadonlyFilesystem", "True", "FilesystemIsReadOnly", 5*time.Minute), core.RebootNode, false},
		"a broken container runtime":      {broken("ContainerRuntimeUnhealthy", "True", "Unhealthy", 10*time.Minute), core.RebootNode, false},
		"a condition that nothing is for": {broken("MemoryPressure", "True", "Pressure", time.Hour), "", false},
		"silent and deadlocked": {append(broken("KernelDeadlock", "True", "DockerHung", time.Hour),
			broken("Ready", "Unknown", "NodeStatusUnknown", time.Hour)...), core.RebootNode, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{Status: corev1.NodeStatus{Conditions: c.conditions}}
			node.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(-2 * time.Hour))
			result := health.Resolve(matcher.Match(node), time.Unix(0, 0), time.Time{})
			if result.Action != c.action {
				t.Errorf("action %q, want %q", result.Action, c.action)
			}
			if c.action != "" && (result.TerminationGracePeriod == nil || (*result.TerminationGracePeriod == 0) != c.forced) {
				t.Errorf("pods get %v, forced %v", result.TerminationGracePeriod, c.forced)
			}
		})
	}
}

func TestHowLongABrokenNodeIsLeftAloneIsASetting(t *testing.T) {
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	p := cloudprovider.New(kube, over(&scripted{t: t}), market(t), cloudprovider.Config{Toleration: time.Minute})
	for _, policy := range p.RepairPolicies() {
		want := time.Minute
		if policy.ConditionType == "KernelDeadlock" || policy.ConditionType == "ReadonlyFilesystem" {
			want = 30 * time.Second
		}
		if policy.TolerationDuration != want {
			t.Errorf("%s %s is left alone for %s, want %s", policy.ConditionType, policy.ConditionStatus, policy.TolerationDuration, want)
		}
	}
}

func TestOnlyTheNodeClaimsOwnInstanceIsRebooted(t *testing.T) {
	for name, c := range map[string]struct {
		providerID string
		get        func(int) (lkepool.Node, error)
		want       func(error) bool
		rebooted   bool
	}{
		"its own": {"linode://5", func(id int) (lkepool.Node, error) { return claimed(id, "default-x7k2p"), nil },
			func(err error) bool { return err == nil }, true},
		"that of another NodeClaim": {"linode://5", func(id int) (lkepool.Node, error) { return claimed(id, "other"), nil },
			core.IsNodeRebootFailedError, false},
		"one that is gone": {"linode://5", func(int) (lkepool.Node, error) { return lkepool.Node{}, &claims.Error{Kind: claims.KindNotFound} },
			core.IsNodeClaimNotFoundError, false},
		"an ID of another provider": {"aws:///a/i-0", nil, core.IsNodeClaimNotFoundError, false},
	} {
		t.Run(name, func(t *testing.T) {
			kube, rebooted := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), false
			p := cloudprovider.New(kube, over(&scripted{t: t, get: c.get}, tier("standard")), market(t), cloudprovider.Config{
				Reboot: func(_ context.Context, id int, operation string) error {
					rebooted = id == 5 && operation == "op"
					return nil
				}})
			err := p.Reboot(t.Context(), nodeClaim(func(n *karpv1.NodeClaim) { n.Status.ProviderID = c.providerID }), "op")
			if !c.want(err) || rebooted != c.rebooted {
				t.Errorf("got %v, rebooted %v", err, rebooted)
			}
		})
	}
}

func TestALinodeOfLKEIsRebootedInPlace(t *testing.T) {
	onBothTiers(t, func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) {
		p := simulated(t, sim, info)
		made := launch(ctx, t, p, numbered(1))
		time.Sleep(10 * time.Minute)
		client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		before, err := p.Get(ctx, made.Status.ProviderID)
		if err != nil {
			t.Fatal(err)
		}
		id, err := nodeclaim.InstanceID(made.Status.ProviderID)
		if err != nil {
			t.Fatal(err)
		}
		rebooter := reboot.New(client)
		for range 2 {
			if err := rebooter.Reboot(ctx, id, "op"); err != nil {
				t.Fatal(err)
			}
		}
		if instance, err := client.GetInstance(ctx, id); err != nil || instance.Status != "rebooting" {
			t.Errorf("status %q, %v", instance.Status, err)
		}
		time.Sleep(10 * time.Minute)
		if instance, err := client.GetInstance(ctx, id); err != nil || instance.Status != "running" {
			t.Errorf("status %q, %v", instance.Status, err)
		}
		after, err := p.Get(ctx, made.Status.ProviderID)
		if err != nil || after.Name != before.Name {
			t.Errorf("after the reboot: %v, %v", after, err)
		}
	})
}
