package garbagecollection_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	_ "github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1" // NodeClaims in the scheme
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
)

// candidates is a Pools whose nodes are all to be released.
type candidates struct {
	nodes  []claims.Node
	sweeps int
}

func (c *candidates) Collect(ctx context.Context, how claims.Sweep) (collected claims.Collected, err error) {
	c.sweeps++
	if _, err := how.Alive(ctx); err != nil {
		return collected, err
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(node claims.Node) bool {
		vacant, vacateErr := how.Vacate(ctx, node)
		err = errors.Join(err, vacateErr)
		if vacant {
			collected.Removed = append(collected.Removed, node)
		}
		return vacant
	})
	return collected, err
}

// script is a Drainer that answers by the Node's name.
type script struct {
	answers   map[string]func() (bool, error)
	asked     []string
	deadlines []time.Duration
}

func (s *script) Vacate(_ context.Context, node *corev1.Node, deadline time.Duration) (bool, error) {
	s.asked, s.deadlines = append(s.asked, node.Name), append(s.deadlines, deadline)
	return s.answers[node.Name]()
}

func says(vacant bool, err error) func() (bool, error) {
	return func() (bool, error) { return vacant, err }
}

func named(id int, name string) claims.Node { return claims.Node{InstanceID: id, Name: name} }

func k8sNode(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func kubeWith(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
}

// nameless is an instance of which no Node has the name, as where LKE names Nodes otherwise, or a user has renamed the Linode.
func nameless(id int, created time.Time) claims.Node {
	return claims.Node{InstanceID: id, Name: "renamed", InstanceType: "g6-standard-2", Created: created}
}

func TestAnInstanceStaysWhileANodeWithoutProviderIDCouldBeIt(t *testing.T) {
	made := time.Unix(1700000000, 0)
	young := func(change func(*corev1.Node)) *corev1.Node {
		node := k8sNode("young", "")
		node.CreationTimestamp, node.Labels = metav1.NewTime(made.Add(time.Minute)), map[string]string{}
		change(node)
		return node
	}
	for name, tt := range map[string]struct {
		node *corev1.Node
		goes bool
	}{
		"it joined later": {young(func(*corev1.Node) {}), false},
		"it is in the pool, of the type": {young(func(n *corev1.Node) {
			n.Labels["lke.linode.com/pool-id"] = "7"
			n.Labels[corev1.LabelInstanceTypeStable] = "g6-standard-2"
		}), false},
		"it is in another pool":            {young(func(n *corev1.Node) { n.Labels["lke.linode.com/pool-id"] = "8" }), true},
		"it is of another type":            {young(func(n *corev1.Node) { n.Labels[corev1.LabelInstanceTypeStable] = "g6-standard-4" }), true},
		"it was there before the instance": {young(func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(made) }), true},
		"it has a provider ID":             {young(func(n *corev1.Node) { n.Spec.ProviderID = "linode://77" }), true},
	} {
		t.Run(name, func(t *testing.T) {
			kube := kubeWith(tt.node)
			pools := &candidates{nodes: []claims.Node{nameless(6, made)}}
			ofPool := func(int) map[string]string { return map[string]string{"lke.linode.com/pool-id": "7"} }
			if _, err := garbagecollection.NewController(kube, kube, pools, &script{},
				garbagecollection.Config{NodeLabels: ofPool}).Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			if goes := len(pools.nodes) == 0; goes != tt.goes {
				t.Errorf("the instance goes: %t, want %t", goes, tt.goes)
			}
		})
	}
}

// A cloud controller manager gives a new Node its provider ID within seconds: a line with ERROR would call a person for nothing. Each
// Machine of Cluster API that has no Linode yet has the ID 0, and each is looked at.
func TestANodeThatStaysWithoutProviderIDIsAnError(t *testing.T) {
	for age, want := range map[time.Duration]int{time.Minute: 0, 3 * time.Minute: 2} {
		var lines []string
		ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
		joined := k8sNode("joined", "")
		joined.CreationTimestamp = metav1.NewTime(time.Now().Add(-age))
		kube, before := kubeWith(joined), joined.CreationTimestamp.Add(-time.Minute)
		pools := &candidates{nodes: []claims.Node{nameless(0, before), nameless(0, before)}}
		c := garbagecollection.NewController(kube, kube, pools, &script{}, garbagecollection.Config{})
		if _, err := c.Reconcile(ctx); err != nil {
			t.Fatal(err)
		}
		if len(pools.nodes) != 2 || len(lines) != want {
			t.Errorf("a Node of %s: %d of 2 instances are left, and the log has %q", age, len(pools.nodes), lines)
		}
		for _, line := range lines {
			if !strings.Contains(line, "node joined has had no provider ID for more than 2m0s and may belong to instance renamed") {
				t.Error(line)
			}
		}
	}
}

func TestPodsKeepAnOrphanUntilTheDeadlineOfItsNodePool(t *testing.T) {
	graceful := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "graceful"}}
	graceful.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 7 * time.Minute}
	for nodePool, want := range map[string]time.Duration{"graceful": 7 * time.Minute, "plain": 2 * time.Hour, "gone": 2 * time.Hour} {
		kube := kubeWith(k8sNode("here", "linode://2"), graceful, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "plain"}})
		drainer := &script{answers: map[string]func() (bool, error){"here": says(true, nil)}}
		pools := &candidates{nodes: []claims.Node{{InstanceID: 2, Name: "here", Tags: []string{"karpenter.sh/nodepool=" + nodePool}}}}
		if _, err := garbagecollection.NewController(kube, kube, pools, drainer,
			garbagecollection.Config{DrainTimeout: 2 * time.Hour}).Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(drainer.deadlines, []time.Duration{want}) {
			t.Errorf("%s: deadlines %v, want %s", nodePool, drainer.deadlines, want)
		}
	}
}

func TestWhichNodesMayGo(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		node   claims.Node
		answer func() (bool, error)
		goes   bool
		asked  bool
	}{
		{"it has no Node", named(1, "absent"), nil, true, false},
		{"its Node is vacant", named(2, "here"), says(true, nil), true, true},
		{"its Node is not vacant", named(2, "here"), says(false, nil), false, true},
		{"its Node cannot be drained", named(2, "here"), says(true, broken), false, true},
		{"its Node has no provider ID yet", named(3, "young"), says(true, nil), true, true},
		{"its Node has another name", named(2, "renamed"), says(false, nil), false, true},
		{"the Node of its name is another's", named(4, "here"), says(false, nil), true, false},
		{"it has neither name nor Node", named(5, ""), nil, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kube := kubeWith(k8sNode("here", "linode://2"), k8sNode("young", ""))
			pools := &candidates{nodes: []claims.Node{tt.node, named(9, "another")}}
			drainer := &script{answers: map[string]func() (bool, error){"here": tt.answer, "young": tt.answer}}
			var released []int
			c := garbagecollection.NewController(kube, kube, pools, drainer, garbagecollection.Config{OnCollected: func(c claims.Collected) {
				for _, node := range c.Removed {
					released = append(released, node.InstanceID)
				}
			}})
			if _, err := c.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(released, tt.node.InstanceID) != tt.goes || !slices.Contains(released, 9) {
				t.Errorf("released %v", released)
			}
			if (len(drainer.asked) > 0) != tt.asked {
				t.Errorf("asked about %v", drainer.asked)
			}
		})
	}
}

// Between two sweeps, which cost calls to the Linode API, draining goes on. The sweep that releases comes when a node is
// empty, and the others keep to their interval.
func TestDrainingGoesOnBetweenSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := kubeWith(k8sNode("a", "linode://1"), k8sNode("b", "linode://2"))
		pools := &candidates{nodes: []claims.Node{named(1, "a"), named(2, "b")}}
		drainer := &script{answers: map[string]func() (bool, error){"a": says(false, nil), "b": says(false, nil)}}
		c := garbagecollection.NewController(kube, kube, pools, drainer, garbagecollection.Config{})
		reconcile := func(wantSweeps int, wantPause time.Duration) {
			t.Helper()
			asked := len(drainer.asked)
			result, err := c.Reconcile(t.Context())
			if err != nil || pools.sweeps != wantSweeps || result.RequeueAfter != wantPause {
				t.Errorf("%d sweeps, pause %s, %v; want %d, %s", pools.sweeps, result.RequeueAfter, err, wantSweeps, wantPause)
			}
			if len(pools.nodes) > 0 && len(drainer.asked) == asked {
				t.Error("nothing was drained")
			}
			time.Sleep(result.RequeueAfter)
		}
		const drains, interval = 2 * time.Second, 2 * time.Minute
		reconcile(1, drains)
		for range 10 {
			reconcile(1, drains)
		}
		drainer.answers["b"] = says(true, nil)
		reconcile(2, drains)
		if len(pools.nodes) != 1 || pools.nodes[0].Name != "a" {
			t.Errorf("left: %+v", pools.nodes)
		}
		for range int(interval/drains) - 1 {
			reconcile(2, drains)
		}
		reconcile(3, drains)
		drainer.answers["a"] = says(true, nil)
		reconcile(4, interval)
		drainer.answers = nil
		reconcile(5, interval)
	})
}

// A process that ends in the middle of a sweep has nothing to report: a line with ERROR would call a person for nothing.
func TestASweepThatIsCutOffByTheEndIsNoError(t *testing.T) {
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	for name, tt := range map[string]struct {
		ended bool
		fails bool
	}{
		"the process ends":             {true, false},
		"the Linode API has a problem": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			pools := cutOff{func() error {
				if tt.ended {
					end()
				}
				return errors.New("no answer")
			}}
			_, err := garbagecollection.NewController(kube, kube, pools, &script{}, garbagecollection.Config{}).Reconcile(ctx)
			if (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
		})
	}
}

type cutOff struct{ collect func() error }

func (c cutOff) Collect(context.Context, claims.Sweep) (claims.Collected, error) {
	return claims.Collected{}, c.collect()
}
