package registrationtaint_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/lifecycle"
	"sigs.k8s.io/karpenter/pkg/state/nodepoolhealth"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke/registrationtaint"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// ledger has the owners of pools: 1 is ours, 2 another owner's, the others' are not known until the test sets them.
type ledger struct {
	mu           sync.Mutex
	known        map[int]bool
	instances    map[int]lkepool.Node // where they differ from what the Nodes say of them
	reads        int
	returned     int
	unidentified int
}

// Get finds the instance of a Node as the Node describes it, unless the test has set another.
func (l *ledger) Get(ctx context.Context, id int) (lkepool.Node, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if instance, ok := l.instances[id]; ok {
		return instance, nil
	}
	nodes := &corev1.NodeList{}
	if err := Kube.List(ctx, nodes); err != nil {
		return lkepool.Node{}, err
	}
	for _, node := range nodes.Items {
		if poolID, err := strconv.Atoi(node.Labels[registrationtaint.PoolIDLabel]); err == nil && l.known[poolID] &&
			node.Spec.ProviderID == nodeclaim.ProviderID(id) {
			return lkepool.Node{PoolID: poolID, Node: claims.Node{InstanceID: id, Name: node.Name},
				Template: lkepool.Template{Taints: []lkepool.Taint{{Key: karpv1.UnregisteredTaintKey, Effect: "NoExecute"}}}}, nil
		}
	}
	return lkepool.Node{}, &claims.Error{Kind: claims.KindConflict}
}

func (l *ledger) set(id int, instance lkepool.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.instances[id] = instance
}

func instanceOf(node *corev1.Node) int {
	GinkgoHelper()
	id, err := nodeclaim.InstanceID(node.Spec.ProviderID)
	Expect(err).NotTo(HaveOccurred())
	return id
}

func (l *ledger) onUnidentified() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unidentified++
}

func (l *ledger) count(n *int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *n
}

func (l *ledger) Owns(poolID int) (owned, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owned, known = l.known[poolID]
	return owned, known
}

func (l *ledger) learn(poolID int, ours bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[poolID] = ours
}

func (l *ledger) onReturned() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.returned++
}

func (l *ledger) returns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.returned
}

var guarded = &ledger{known: map[int]bool{1: true, 2: false}, instances: map[int]lkepool.Node{}}

const (
	disrupted    = karpv1.DisruptedTaintKey + ":NoSchedule"
	unregistered = karpv1.UnregisteredTaintKey + ":NoExecute"
)

func newGuard() *registrationtaint.Controller {
	drainer := drain.New(Manager.GetClient(), Manager.GetAPIReader(), Recorded)
	drainer.Settle = time.Nanosecond
	return registrationtaint.NewController(Manager.GetClient(), guarded, drainer, Recorded,
		registrationtaint.Config{Cluster: 1, OnReturned: guarded.onReturned, OnUnidentified: guarded.onUnidentified})
}

func inPool(id string, more ...func(*corev1.Node)) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels[registrationtaint.PoolIDLabel] = id
		for _, f := range more {
			f(n)
		}
	}
}

// newWaitingClaim makes a NodeClaim that has no instance yet.
func newWaitingClaim(ctx context.Context, instanceType string) *karpv1.NodeClaim {
	GinkgoHelper()
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "waits-for-" + instanceType}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{instanceType}},
		},
	}}
	Expect(Kube.Create(ctx, claim)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(Kube.Delete(ctx, claim))).To(Succeed()) })
	Eventually(func() error {
		return Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), &karpv1.NodeClaim{})
	}).Should(Succeed())
	return claim
}

// registerAs writes what core notes on the NodeClaim when it registers the Node.
func registerAs(ctx context.Context, claim *karpv1.NodeClaim, name string) {
	GinkgoHelper()
	claim.Status.NodeName = name
	Expect(Kube.Status().Update(ctx, claim)).To(Succeed())
	Eventually(func() (string, error) {
		seen := &karpv1.NodeClaim{}
		err := Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), seen)
		return seen.Status.NodeName, err
	}).Should(Equal(name))
}

var (
	ofTeam        = corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	startup       = corev1.Taint{Key: "startup", Effect: corev1.TaintEffectNoSchedule}
	uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
		Effect: corev1.TaintEffectNoSchedule}
)

// supported is as much of a CloudProvider as core needs to register a node.
type supported struct{ cloudprovider.CloudProvider }

func (supported) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}

// registeredByCore lets core's own controller register the node of a launched NodeClaim, or find that it is.
func registeredByCore(ctx context.Context, claim *karpv1.NodeClaim) {
	GinkgoHelper()
	Expect(Kube.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	Expect(Kube.Status().Update(ctx, claim)).To(Succeed())
	core := lifecycle.NewController(clock.RealClock{}, Manager.GetClient(), supported{}, Recorded, nil, nodepoolhealth.NewState(), nil)
	Eventually(func(g Gomega) {
		_, err := core.Reconcile(ctx, claim)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeRegistered).IsTrue()).To(BeTrue())
	}).Should(Succeed())
}

// appliedLate has the pool's taint come after the registration, once.
func appliedLate(ctx context.Context, node *corev1.Node) {
	GinkgoHelper()
	addTaint(ctx, node)
	Eventually(func() []string { return TaintsOf(ctx, node) }).Should(BeEmpty())
}

func returned(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, karpv1.UnregisteredNoExecuteTaint)
}

func addTaint(ctx context.Context, node *corev1.Node) {
	GinkgoHelper()
	Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
	stored := node.DeepCopy()
	returned(node)
	Expect(Kube.Patch(ctx, node, client.MergeFrom(stored))).To(Succeed())
}

func isRegistered(n *corev1.Node) { n.Labels[karpv1.NodeRegisteredLabelKey] = "true" }

var _ = Describe("Nodes without a NodeClaim", func() {
	DescribeTable("get the taint when they join", func(ctx context.Context, change func(*corev1.Node), want ...string) {
		node := NewNode(ctx, change)
		if len(want) > 0 {
			Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(want))
		}
		Consistently(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(want))
	},
		Entry("in a pool of ours", inPool("1"), unregistered),
		Entry("without a provider ID", inPool("1", func(n *corev1.Node) { n.Spec.ProviderID = "" }), unregistered),
		Entry("with the taint from the pool", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint}
		}), unregistered),
		Entry("with another effect", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoSchedule}}
		}), karpv1.UnregisteredTaintKey+":NoSchedule", unregistered),
		Entry("beside a taint of its own", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		}), "team:NoSchedule", unregistered),
		Entry("not in another owner's pool", inPool("2")),
		Entry("not in a pool that is not known yet", inPool("3")),
		Entry("not with a label that is no pool's", inPool("three")),
		Entry("not outside of LKE", nil),
		Entry("not when it was registered once", inPool("1", isRegistered)),
	)

	It("get it when LKE's label comes later", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		node.Labels = map[string]string{registrationtaint.PoolIDLabel: "1"}
		Expect(Kube.Update(ctx, node)).To(Succeed())
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("get it when it is known whose the pool is", func(ctx context.Context) {
		node := NewNode(ctx, inPool("4"))
		guarded.learn(4, true)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("do not get it in the moment in which core registers them", func(ctx context.Context) {
		node := NewNode(ctx, inPool("5"))
		stale := node.DeepCopy()
		isRegistered(node)
		Expect(Kube.Update(ctx, node)).To(Succeed())
		guarded.learn(5, true)
		result, err := newGuard().Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		Consistently(func() []string { return TaintsOf(ctx, node) }).Should(BeEmpty())
	})
	It("are drained first when pods have settled", func(ctx context.Context) {
		node := NewNode(ctx, inPool("6"))
		pod := NewPod(ctx, node, nil)
		pdb := Budget(ctx, node, 0)
		guarded.learn(6, true)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(disrupted))
		Eventually(func() int { return Recorded.Count(node.Name, "FailedDraining") }).Should(Equal(1))
		Expect(Exists(ctx, pod)).To(BeTrue())
		Allow(ctx, pdb, 1)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(disrupted, unregistered))
		Expect(Exists(ctx, pod)).To(BeFalse())
	})
	It("keep their pods while a NodeClaim waits for an instance of their type", func(ctx context.Context) {
		claim := newWaitingClaim(ctx, "awaited")
		node := NewNode(ctx, inPool("9", func(n *corev1.Node) { n.Labels[corev1.LabelInstanceTypeStable] = "awaited" }))
		other := NewNode(ctx, inPool("9", func(n *corev1.Node) { n.Labels[corev1.LabelInstanceTypeStable] = "not-awaited" }))
		pod := NewPod(ctx, node, nil)
		NewPod(ctx, other, nil)
		guarded.learn(9, true)
		Eventually(func() []string { return TaintsOf(ctx, other) }).Should(ConsistOf(disrupted, unregistered))
		Expect(TaintsOf(ctx, node)).To(BeEmpty())
		Expect(Exists(ctx, pod)).To(BeTrue())
		Expect(Kube.Delete(ctx, claim)).To(Succeed())
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(disrupted, unregistered))
	})
	It("do not wait for pods of DaemonSets", func(ctx context.Context) {
		node := NewNode(ctx, inPool("7"))
		NewPod(ctx, node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "u"}}
		})
		guarded.learn(7, true)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("keep their pods when a NodeClaim has them", func(ctx context.Context) {
		node := NewNode(ctx, inPool("8"))
		pod := NewPod(ctx, node, nil)
		NewClaim(ctx, node)
		guarded.learn(8, true)
		Consistently(func() []string { return TaintsOf(ctx, node) }).WithTimeout(3 * time.Second).Should(BeEmpty())
		Expect(Exists(ctx, pod)).To(BeTrue())
	})
	It("keep their NodeClaim when LKE applies the pool's taint after their registration", func(ctx context.Context) {
		node := NewNode(ctx, inPool("1", isRegistered))
		claim := NewClaim(ctx, node)
		registerAs(ctx, claim, node.Name)
		before := guarded.returns()
		addTaint(ctx, node)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(BeEmpty())
		Expect(guarded.returns()).To(BeNumerically(">", before), "new pools come without the taint")
		Eventually(func() int { return Recorded.Count(node.Name, "UnregisteredTaintLate") }).Should(Equal(1))
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		node.Labels["changed"] = "yes"
		Expect(Kube.Update(ctx, node)).To(Succeed())
		Consistently(func() bool { return Exists(ctx, claim) }).WithTimeout(2 * time.Second).Should(BeTrue())
	})

	It("are replaced when LKE puts the taint back", func(ctx context.Context) {
		node := NewNode(ctx, inPool("1", isRegistered))
		claim := NewClaim(ctx, node)
		registerAs(ctx, claim, node.Name)
		appliedLate(ctx, node)
		before := guarded.returns()
		addTaint(ctx, node)
		Eventually(func() bool { return Exists(ctx, claim) }).Should(BeFalse())
		Expect(guarded.returns()).To(BeNumerically(">", before))
		Eventually(func() int { return Recorded.Count(node.Name, "UnregisteredTaintReturned") }).Should(Equal(1))
		Expect(TaintsOf(ctx, node)).To(ConsistOf(unregistered), "the controller does not fight about it")
	})
	It("are replaced when LKE is sooner than core, which has not written yet which Node the NodeClaim has", func(ctx context.Context) {
		node := NewNode(ctx, inPool("1", isRegistered))
		claim := NewClaim(ctx, node)
		addTaint(ctx, node)
		Consistently(func() []string { return TaintsOf(ctx, node) }).WithTimeout(2 * time.Second).Should(ConsistOf(unregistered))
		registerAs(ctx, claim, node.Name)
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(BeEmpty())
		addTaint(ctx, node)
		Eventually(func() bool { return Exists(ctx, claim) }).Should(BeFalse())
	})

	It("get it again when LKE replaces their taints before they are registered", func(ctx context.Context) {
		node := NewNode(ctx, inPool("1"))
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf(unregistered))
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		node.Spec.Taints = []corev1.Taint{ofTeam}
		Expect(Kube.Update(ctx, node)).To(Succeed())
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf("team:NoSchedule", unregistered))
	})

	DescribeTable("have all taints of their NodeClaim before pods can come",
		func(ctx context.Context, atRegistration bool) {
			node := NewNode(ctx, inPool("1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{uninitialized}
				if atRegistration {
					n.Spec.Taints = append(n.Spec.Taints, ofTeam)
				}
			}))
			claim := NewClaim(ctx, node, func(c *karpv1.NodeClaim) {
				c.Spec.Taints, c.Spec.StartupTaints = []corev1.Taint{ofTeam}, []corev1.Taint{startup}
			})
			Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ContainElement(unregistered))
			Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint == uninitialized })
			Expect(Kube.Update(ctx, node)).To(Succeed()) // as the cloud controller manager does
			Expect(TaintsOf(ctx, node)).To(ContainElement(unregistered), "no pod can come before core has registered the node")
			registeredByCore(ctx, claim)
			Expect(TaintsOf(ctx, node)).To(ConsistOf("team:NoSchedule", "startup:NoSchedule"))

			// An agent removes the startup taint, and only then does LKE apply the pool's.
			Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
			node.Spec.Taints = []corev1.Taint{ofTeam}
			Expect(Kube.Update(ctx, node)).To(Succeed())
			registeredByCore(ctx, claim)
			Consistently(func() []string { return TaintsOf(ctx, node) }).Should(ConsistOf("team:NoSchedule"), "startup taints come back")
		},
		Entry("when the kubelet registers with the pool's taints", true),
		Entry("when the kubelet registers without them", false),
	)
	DescribeTable("that are made to look like a NodeClaim's change nothing",
		func(ctx context.Context, forge func(context.Context, *corev1.Node, *karpv1.NodeClaim)) {
			victim := NewNode(ctx, inPool("1", isRegistered))
			claim := NewClaim(ctx, victim)
			registerAs(ctx, claim, victim.Name)
			before := guarded.returns()
			forge(ctx, victim, claim)
			Consistently(func() bool { return Exists(ctx, claim) }).WithTimeout(2 * time.Second).Should(BeTrue())
			Expect(guarded.returns()).To(Equal(before), "the setting was switched off")
		},
		Entry("a second Node with its provider ID", func(ctx context.Context, victim *corev1.Node, _ *karpv1.NodeClaim) {
			NewNode(ctx, inPool("1", isRegistered, returned, func(n *corev1.Node) { n.Spec.ProviderID = victim.Spec.ProviderID }))
		}),
		Entry("beside a Node that is not its own", func(ctx context.Context, victim *corev1.Node, claim *karpv1.NodeClaim) {
			registerAs(ctx, claim, "another")
			addTaint(ctx, victim)
		}),
		Entry("in a pool without the taint", func(ctx context.Context, victim *corev1.Node, _ *karpv1.NodeClaim) {
			guarded.set(instanceOf(victim), lkepool.Node{PoolID: 1, Node: claims.Node{Name: victim.Name}})
			addTaint(ctx, victim)
		}),
		Entry("in another pool than its label says", func(ctx context.Context, victim *corev1.Node, _ *karpv1.NodeClaim) {
			guarded.set(instanceOf(victim),
				lkepool.Node{PoolID: 2, Node: claims.Node{Name: victim.Name},
					Template: lkepool.Template{Taints: []lkepool.Taint{{Key: karpv1.UnregisteredTaintKey}}}})
			addTaint(ctx, victim)
		}),
	)
	It("are not believed by their label alone", func(ctx context.Context) {
		guarded.set(990001, lkepool.Node{PoolID: 2})
		guarded.set(990002, lkepool.Node{PoolID: 1, Node: claims.Node{Name: "lke1-2-anothers"}})
		forged := NewNode(ctx, inPool("1", func(n *corev1.Node) { n.Spec.ProviderID = "linode://990001" }))
		other := NewNode(ctx, inPool("1", func(n *corev1.Node) { n.Spec.ProviderID = "linode://990002" }))
		Consistently(func() []string {
			return append(TaintsOf(ctx, forged),
				TaintsOf(ctx, other)...)
		}).WithTimeout(2 * time.Second).Should(BeEmpty())
	})
	It("get the taint before they are initialized, without a read of the API", func(ctx context.Context) {
		guarded.set(990004, lkepool.Node{PoolID: 2}) // a read would find another's
		node := NewNode(ctx, inPool("1", func(n *corev1.Node) {
			n.Spec.ProviderID = "linode://990004"
			n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
				Effect: corev1.TaintEffectNoSchedule}}
		}))
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ContainElement(unregistered))
	})
	It("are protected without the label, by their provider ID", func(ctx context.Context) {
		guarded.set(990003, lkepool.Node{PoolID: 1})
		node := NewNode(ctx, func(n *corev1.Node) { n.Spec.ProviderID = "linode://990003" })
		Eventually(func() []string { return TaintsOf(ctx, node) }).Should(ContainElement(unregistered))
	})
	It("cost no read of the API when a NodeClaim has them", func(ctx context.Context) {
		guarded.learn(11, false)
		node := NewNode(ctx, inPool("11"))
		NewClaim(ctx, node)
		before := guarded.count(&guarded.reads)
		guarded.learn(12, true)
		fresh := NewNode(ctx, inPool("12", func(n *corev1.Node) { n.Spec.ProviderID = node.Spec.ProviderID }))
		Eventually(func() []string { return TaintsOf(ctx, fresh) }).Should(ConsistOf(unregistered))
		Expect(guarded.count(&guarded.reads)).To(Equal(before))
	})
	It("are reported once when neither provider ID nor label tells whose they are", func(ctx context.Context) {
		before := guarded.count(&guarded.unidentified)
		node := NewNode(ctx, func(n *corev1.Node) { n.Spec.ProviderID = "" })
		Eventually(func() int { return Recorded.Count(node.Name, "NodeNotIdentified") }).Should(Equal(1))
		node.Labels = map[string]string{"changed": "yes"}
		Expect(Kube.Update(ctx, node)).To(Succeed())
		Consistently(func() int { return Recorded.Count(node.Name, "NodeNotIdentified") }).Should(Equal(1))
		Expect(guarded.count(&guarded.unidentified)).To(Equal(before + 1))
	})
	It("of another owner may have the taint for reasons of their own", func(ctx context.Context) {
		node := NewNode(ctx, inPool("2", isRegistered, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint}
		}))
		claim := NewClaim(ctx, node)
		Consistently(func() bool { return Exists(ctx, claim) }).Should(BeTrue())
	})
})

func TestUnclaimed(t *testing.T) {
	Suite(t, "Nodes that no NodeClaim has", func(ctx context.Context) { Expect(newGuard().Register(ctx, Manager)).To(Succeed()) })
}
