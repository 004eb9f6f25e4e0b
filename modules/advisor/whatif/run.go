package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodepoolutil "sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
	linodeprovider "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

// Input has the facts from which a Report is computed. Cluster and API are required.
type Input struct {
	Cluster *snapshot.Snapshot // its NodePools and LinodeNodeClasses are used; without NodePools, DefaultNodePool
	API     catalog.API        // plans, prices and availability
	Prices  string             // where the prices are from, for the report

	Region         string              // "" = the region of the cluster's nodes
	Mode           v1alpha1.Mode       // of the operator; "" = lke
	Tier           string              // of the LKE cluster; "" = the tier that the cluster shows, else standard
	Keep           []string            // IDs of LKE pools that stay, with their pods
	Plans          selection.Selection // the plans that the operator may buy; zero = its defaults
	MemoryOverhead *float64            // the operator's VM_MEMORY_OVERHEAD_PERCENT; nil = not set
	Sensitivity    bool                // compute the range and the variations too
	Use            *Basis              // compare today's requests with these; nil = do not

	// Offered returns the catalogue from which nodes can be made, if it is not the whole market, as in clusterapi mode. nil = the whole
	// market.
	Offered  func(ctx context.Context, region string, market *catalog.Catalog) (linodeprovider.Catalog, error)
	Withheld func(nodePool, plan string) bool // the plans that the operator does not buy now, for Present; nil = none
}

// run is one computation, with its prepared input.
type run struct {
	input     Input
	nodePools []*karpv1.NodePool
	market    linodeprovider.Catalog
	plans     map[string]catalog.Plan
	monthly   map[string]float64 // price by plan
	daemonSet []*corev1.Pod      // a pod of each
}

// Run computes a Report.
func Run(ctx context.Context, input Input) (*Report, error) {
	ctx, err := coreContext(ctx)
	if err != nil {
		return nil, err
	}
	r, report, err := prepare(ctx, input)
	if err != nil {
		return nil, err
	}
	report.Today, report.TodayMonthly = r.today()
	if err := r.simulate(ctx, report); err != nil {
		return nil, err
	}
	report.Difference = report.ThenMonthly - report.TodayMonthly
	if input.Use != nil {
		if err := r.use(ctx, report); err != nil {
			return nil, err
		}
	}
	if !input.Sensitivity {
		return report, nil
	}
	return report, r.sensitivity(ctx, report)
}

// prepare checks the input, reads the catalogue, and begins the report.
func prepare(ctx context.Context, input Input) (*run, *Report, error) {
	if input.Region = cmp.Or(input.Region, input.Cluster.Region()); input.Region == "" {
		return nil, nil, fmt.Errorf("the region is not known: no node has the label %s", corev1.LabelTopologyRegion)
	}
	if err := checkPools(input.Cluster, input.Keep); err != nil {
		return nil, nil, err
	}
	if len(input.Cluster.Pods) == 0 {
		return nil, nil, errors.New("the cluster has no pods")
	}
	r := &run{input: input, plans: map[string]catalog.Plan{}, monthly: map[string]float64{}}
	report := &Report{Region: input.Region, Prices: input.Prices, NotModelled: notModelled()}
	for _, nodePool := range input.Cluster.NodePools {
		if nodepoolutil.IsStatic(nodePool) {
			report.Notes = append(report.Notes, "NodePool "+nodePool.Name+" is static and is left out")
			continue
		}
		r.nodePools = append(r.nodePools, ready(nodePool))
	}
	if len(r.nodePools) == 0 {
		r.nodePools = []*karpv1.NodePool{ready(DefaultNodePool())}
		report.Notes = append(report.Notes, fmt.Sprintf("no NodePool is given: whatif assumes the NodePool of the quickstart, with "+
			"standard and dedicated plans of at most %d vCPUs and without limits; --nodepools takes others", bounds[0]))
	}
	all, err := catalog.Plans(ctx, input.API)
	if err != nil {
		return nil, nil, err
	}
	for _, plan := range all {
		r.plans[plan.ID] = plan
		r.monthly[plan.ID] = plan.PriceIn(input.Region).Monthly
	}
	market := catalog.NewCatalog(input.API, catalog.Config{
		Region: input.Region, Mode: input.Mode, Tier: cmp.Or(input.Tier, input.Cluster.Tier()), Plans: input.Plans,
		MemoryOverhead: input.MemoryOverhead,
	})
	if err := market.Refresh(ctx); err != nil {
		return nil, nil, err
	}
	for _, node := range input.Cluster.Nodes {
		plan := node.Labels[corev1.LabelInstanceTypeStable]
		market.Learn(map[string]catalog.Figures{plan: learnedcapacity.Shown(node.Status)})
	}
	r.market = market
	if input.Offered != nil {
		if r.market, err = input.Offered(ctx, input.Region, market); err != nil {
			return nil, nil, err
		}
	}
	for _, set := range input.Cluster.DaemonSets {
		r.daemonSet = append(r.daemonSet, daemonset.PodForDaemonSet(set))
	}
	report.Notes = append(report.Notes, notes(input.Cluster, r.monthly)...)
	if !slices.ContainsFunc(input.Cluster.Nodes, func(n *corev1.Node) bool { return kept(n, input.Keep) }) {
		report.Notes = append(report.Notes, "no node stays; the operator itself, and pods that must not run on its nodes, need an LKE pool: "+
			"name the one that stays with --keep")
	}
	return r, report, nil
}

// world makes a simulated cluster. In it, all pods wait that are not on a kept node.
func (r *run) world(ctx context.Context, nodePools []*karpv1.NodePool) (*world, int, error) {
	c := r.input.Cluster
	store := objectstore.New()
	for _, object := range c.Objects() {
		switch object.(type) {
		case *corev1.Pod, *corev1.Node, *karpv1.NodePool, *karpv1.NodeClaim, *vpav1.VerticalPodAutoscaler, *v1beta1.PodMetrics:
		default:
			store.Put(object)
		}
	}
	for _, nodePool := range nodePools {
		store.Put(nodePool)
	}
	keptNodes := map[string]bool{}
	for _, node := range c.Nodes {
		keptNodes[node.Name] = kept(node, r.input.Keep)
	}
	moving := 0
	for _, pod := range c.Pods {
		switch {
		case keptNodes[pod.Spec.NodeName]:
			store.Put(pod)
		case movable(pod):
			store.Put(pending(pod))
			moving++
		}
	}
	p := &provider{types: r.market.InstanceTypes, classes: map[string]*v1alpha1.LinodeNodeClassSpec{}}
	for _, class := range c.NodeClasses {
		p.classes[class.Name] = &class.Spec
	}
	w := newWorld(store, clock.NewFakeClock(begin(c)), p, r.input.Region)
	w.daemonSets = r.daemonSet
	for _, node := range c.Nodes {
		if keptNodes[node.Name] {
			if err := w.observe(ctx, node); err != nil {
				return nil, 0, err
			}
		}
	}
	for _, set := range c.DaemonSets {
		if err := w.cluster.UpdateDaemonSet(ctx, set); err != nil {
			return nil, 0, err
		}
	}
	return w, moving, nil
}

// settled is a simulation that has come to rest.
type settled struct {
	world  *world
	moving int     // pods that were made pending
	first  []Group // before consolidation
	done   consolidation
}

// settle runs the simulation until it comes to rest.
func (r *run) settle(ctx context.Context, nodePools []*karpv1.NodePool, as arrival) (s settled, err error) {
	if s.world, s.moving, err = r.world(ctx, nodePools); err != nil {
		return s, err
	}
	s.world.arrival = as
	if err = s.world.provision(ctx); err != nil {
		return s, err
	}
	s.first, _ = r.then(s.world)
	s.done, err = s.world.consolidate(ctx, rest(nodePools))
	return s, err
}

// simulate fills in the nodes that Karpenter would hold, and their prices.
func (r *run) simulate(ctx context.Context, report *Report) error {
	s, err := r.settle(ctx, r.nodePools, asPlanned)
	if err != nil {
		return err
	}
	report.Pods = s.moving
	report.Then, report.ThenMonthly = r.then(s.world)
	report.Consolidation = Consolidation{Commands: s.done.Commands, Removed: s.done.Removed, Made: s.done.Replaced}
	for _, group := range s.first {
		report.Consolidation.BeforeNodes += group.Nodes
		report.Consolidation.BeforeMonthly += group.Monthly
	}
	report.Consolidation.Saved = report.Consolidation.BeforeMonthly - report.ThenMonthly
	report.Held = s.world.held()
	report.LowMonthly, report.HighMonthly = report.ThenMonthly, report.ThenMonthly
	report.Unplaced, err = r.unplaced(ctx, s.world)
	return err
}

// sensitivity fills in the range of prices by the order of arrivals, and the variations. Each simulation has its own world, so
// simulations run at the same time; core runs its provisioner and its disruption at the same time, too.
func (r *run) sensitivity(ctx context.Context, report *Report) error {
	simulations, ctx := errgroup.WithContext(ctx)
	simulations.SetLimit(runtime.GOMAXPROCS(0))
	orders, note := tried(report.Pods)
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	prices := make([]float64, len(orders))
	prices[0] = report.ThenMonthly
	for i, as := range orders[1:] {
		simulations.Go(func() error {
			s, err := r.settle(ctx, r.nodePools, as)
			if err == nil {
				_, prices[i+1] = r.then(s.world)
			}
			return err
		})
	}
	variations := r.variations(report)
	for i := range variations {
		simulations.Go(func() error { return r.vary(ctx, report, &variations[i]) })
	}
	if err := simulations.Wait(); err != nil {
		return err
	}
	report.LowMonthly, report.HighMonthly = slices.Min(prices), slices.Max(prices)
	for _, v := range variations {
		report.Sensitivity = append(report.Sensitivity, v.Variation)
	}
	return nil
}

// placed returns the pods on a node.
func (r *run) placed(w *world, node string) []corev1.Pod {
	list := &corev1.PodList{}
	_ = w.store.List(context.Background(), list, client.MatchingFields{"spec.nodeName": node}) // has an index
	return list.Items
}

// unplaced groups the pods without a node by reason.
func (r *run) unplaced(ctx context.Context, w *world) (all []Unplaced, _ error) {
	waiting, err := w.waiting(ctx)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	w.events.forget()
	if _, err := w.provisioner.Schedule(ctx); err != nil { // for the reasons, which it publishes
		return nil, err
	}
	reasons := map[string][]string{}
	for _, pod := range waiting {
		if pod.Spec.NodeName != "" || !movable(&pod) {
			continue
		}
		reason := w.reason(ctx, &pod)
		reasons[reason] = append(reasons[reason], pod.Namespace+"/"+pod.Name)
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, Unplaced{Reason: reason, Pods: reasons[reason]})
	}
	slices.SortStableFunc(all, func(a, b Unplaced) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	return all, nil
}

// reason returns why core places a pod nowhere.
func (w *world) reason(ctx context.Context, pod *corev1.Pod) string {
	if err := w.provisioner.Validate(ctx, pod); err != nil {
		return plainly(err.Error())
	}
	if text := w.events.of(client.ObjectKeyFromObject(pod), events.FailedScheduling); text != "" {
		return plainly(strings.TrimPrefix(text, "Failed to schedule pod, "))
	}
	return "its volumes, or the StorageClass of one of them, are not known"
}

var placeholder = regexp.MustCompile(`hostname-placeholder-\d+`)

// plainly removes names from a text of core: the names of nodes that core has only considered, which differ each time, and the names of
// objects.
func plainly(text string) string {
	return withoutNames(placeholder.ReplaceAllString(strings.Join(strings.Fields(text), " "), "a new node"))
}

// held groups the nodes that consolidation must not touch, by reason.
func (w *world) held() (all []Held) {
	reasons := map[string]int{}
	for name := range w.nodes {
		if text := w.events.of(client.ObjectKey{Name: name}, events.DisruptionBlocked); text != "" {
			reasons[withoutNames(text)]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, Held{Reason: reason, Nodes: reasons[reason]})
	}
	return all
}

var named = regexp.MustCompile(`\s*\((Pod|Node|NodeClaim|PersistentVolume|PersistentVolumeClaim)=[^)]*\)`)

// withoutNames removes the names of objects from a text of core, so that equal reasons are counted together.
func withoutNames(text string) string { return named.ReplaceAllString(text, "") }

func notModelled() []string {
	return []string{
		"consolidateAfter, expireAfter and budgets with a schedule: the result is the state of rest",
		"orders in which nodes join and pods are scheduled, beyond those that the range is computed from",
		"quotas, and plans that are sold out although they are listed as available",
		"autoscaled replicas, CapacityBuffers, NodeOverlays, static NodePools",
		"volumes, NodeBalancers, transfer, the control plane, taxes and discounts",
	}
}
