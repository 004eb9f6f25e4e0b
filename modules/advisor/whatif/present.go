package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	linodeprovider "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

// Present is the present cluster, with core's decisions about it at one time. Nothing moves. Unlike in Run, budgets with a schedule,
// conditions and consolidateAfter count.
type Present struct {
	ctx   context.Context //nolint:containedctx // carries core's options
	run   *run
	world *world
}

// NewPresent prepares the decisions about a cluster at a time. Keep and Sensitivity of the input have no meaning here.
func NewPresent(ctx context.Context, input Input, now time.Time) (*Present, error) {
	ctx, err := coreContext(ctx)
	if err != nil {
		return nil, err
	}
	input.Keep = nil
	r, _, err := prepare(ctx, input)
	if err != nil {
		return nil, err
	}
	p := &provider{types: r.market.InstanceTypes, classes: map[string]*v1alpha1.LinodeNodeClassSpec{}, withheld: input.Withheld}
	for _, class := range input.Cluster.NodeClasses {
		p.classes[class.Name] = &class.Spec
	}
	w := newWorld(objectstore.New(input.Cluster.Objects()...), clock.NewFakeClock(now), p, r.input.Region)
	for _, claim := range input.Cluster.NodeClaims {
		w.cluster.UpdateNodeClaim(claim.DeepCopy())
	}
	for _, node := range input.Cluster.Nodes {
		if err := w.observe(ctx, node); err != nil {
			return nil, err
		}
	}
	for _, pod := range input.Cluster.Pods {
		if pod.Spec.NodeName != "" {
			_ = w.cluster.UpdatePod(ctx, pod) // a pod on a node that is gone counts nowhere
		}
	}
	for _, set := range input.Cluster.DaemonSets {
		if err := w.cluster.UpdateDaemonSet(ctx, set); err != nil {
			return nil, err
		}
	}
	return &Present{ctx, r, w}, nil
}

// InstanceTypes returns the instance types that a NodePool can use.
func (p *Present) InstanceTypes(nodePool *karpv1.NodePool) []*cloudprovider.InstanceType {
	all, _ := p.world.provider.GetInstanceTypes(p.ctx, nodePool) // reads memory
	return all
}

// Monthly returns the price of a plan, 0 if it is not known.
func (p *Present) Monthly(plan string) float64 { return p.run.monthly[plan] }

// Placement is core's plan for a waiting pod: a node that exists or is joining, or a new node. If there is neither, it has the reason.
type Placement struct {
	Node     string
	NodePool string
	Plan     string
	Reason   string
}

// Placement runs core's scheduler over all waiting pods and returns its plan for one of them.
func (p *Present) Placement(key client.ObjectKey) (Placement, error) {
	results, err := p.world.provisioner.Schedule(p.ctx)
	if err != nil {
		return Placement{}, err
	}
	has := func(pods []*corev1.Pod) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return client.ObjectKeyFromObject(pod) == key })
	}
	for _, node := range results.ExistingNodes {
		if has(node.Pods) {
			return Placement{Node: node.Name(), NodePool: node.Labels()[karpv1.NodePoolLabelKey]}, nil
		}
	}
	for _, planned := range results.NewNodeClaims {
		if !has(planned.Pods) {
			continue
		}
		claim := planned.ToNodeClaim()
		karpentercore.NarrowToOnDemand(claim)
		plan, err := linodeprovider.Cheapest(p.InstanceTypes(p.world.nodePool(planned.NodePoolName)), claim)
		if err != nil {
			return Placement{NodePool: planned.NodePoolName, Reason: err.Error()}, nil //nolint:nilerr // the error is the answer
		}
		return Placement{NodePool: planned.NodePoolName, Plan: plan.Name}, nil
	}
	pod := &corev1.Pod{}
	if err := p.world.store.Get(p.ctx, key, pod); err != nil {
		return Placement{}, err
	}
	return Placement{Reason: p.world.reason(p.ctx, pod)}, nil
}

// Judgement is the present decision of core's consolidation about a node.
type Judgement struct {
	Removes  bool   // its pods fit on other nodes, or it has none
	Replaces string // plan of the cheaper node that would take its pods
	Allowed  int    // nodes of its NodePool that budgets let go now, for being underutilized
	Reasons  []string
}

// Judge runs core's consolidation methods over one node only.
func (p *Present) Judge(node string) (j Judgement, _ error) {
	w := p.world
	w.events.forget()
	queue := disruption.NewQueue(w.store, w.events, w.cluster, w.clock, w.provisioner)
	base := disruption.MakeConsolidation(w.clock, w.cluster, w.store, w.provisioner, w.provider, w.events, queue)
	this := func(c *disruption.Candidate) bool { return c.Node.Name == node }
	for _, method := range []disruption.Method{
		disruption.NewEmptiness(base, disruption.WithValidator(unchanged{})),
		disruption.NewSingleNodeConsolidation(base, disruption.WithValidator(unchanged{})),
	} {
		commands, err := w.compute(p.ctx, method, queue, this)
		if err != nil {
			return j, err
		}
		for _, command := range commands {
			j.Removes = len(command.Replacements) == 0
			for _, replacement := range command.Replacements {
				claim := replacement.ToNodeClaim()
				karpentercore.NarrowToOnDemand(claim)
				plan, err := linodeprovider.Cheapest(p.InstanceTypes(w.nodePool(replacement.NodePoolName)), claim)
				if err != nil {
					return j, fmt.Errorf("choosing the replacement of %s: %w", node, err)
				}
				j.Replaces = plan.Name
			}
		}
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(p.ctx, w.cluster, w.clock, w.store, w.provider, w.events,
		karpv1.DisruptionReasonUnderutilized)
	if err != nil {
		return j, err
	}
	object := &corev1.Node{}
	if err := w.store.Get(p.ctx, client.ObjectKey{Name: node}, object); err != nil {
		return j, err
	}
	j.Allowed = budgets[object.Labels[karpv1.NodePoolLabelKey]]
	for _, reason := range []string{events.DisruptionBlocked, events.Unconsolidatable} {
		if text := w.events.of(client.ObjectKey{Name: node}, reason); text != "" {
			j.Reasons = append(j.Reasons, cmp.Or(text, reason))
		}
	}
	return j, nil
}
