// Package verify tests the installed operator in a real cluster with scenarios: nodes come and go, drift, are lost and are replaced. It
// is the operator's part of a run of module lkeprobe. That module bounds the cost, removes the remaining objects and writes the report.
//
// A run has one namespace, one NodePool and one LinodeNodeClass, which are named after the run. The NodePool's nodes carry the run's taint,
// so that pods of others do not run on them. The NodePool's limits bound the vCPUs. A scenario that sees more Linodes than the plan of the
// run counts deletes the NodePool and fails.
//
// Callers are the program karpenter-linode and the end-to-end tests.
//
// A short scenario may take 15 minutes, a long scenario 25 minutes, and the removal eight minutes. The report of a failed scenario has
// its last observation. The run continues with the next scenario. The run needs the rights of an administrator of the cluster. Remove
// returns the names of the objects that it could not remove.
//
// After a kill of the operator, the number of nodes must stay the same for 30 seconds.
//
// Without a StorageClass in Config.Volumes, the scenario with a volume is left out. Without Config.Uninstall, the scenario that
// uninstalls is left out. Scenarios look at the cluster every two seconds (Config.Poll).
package verify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// marker is the key of the label and of the taint on the run's nodes; its value is the run.
const marker = "lkeprobe-run"

// Linodes reads and deletes Linodes. *linode.Client implements it.
type Linodes interface {
	GetInstance(ctx context.Context, id int) (*api.Instance, error)
	DeleteInstance(ctx context.Context, id int) error
}

// Config configures the operator's part.
type Config struct {
	Kube    client.Client
	Linodes Linodes
	Run     string
	Class   v1alpha1.LinodeNodeClassSpec // the spec of the run's LinodeNodeClass
	// Volumes is the StorageClass of the scenario with a volume; "" leaves the scenario out.
	Volumes string
	// Kill ends the operator's processes without a warning. Kubernetes, or the caller, starts new ones.
	Kill func(ctx context.Context) error
	// Calls counts the operator's requests to the Linode API since it started; nil = not known.
	Calls func(ctx context.Context) (int, error)
	// Install installs the operator before the first scenario, and Uninstall removes it after the last scenario. Both are nil if the
	// operator is installed already; then it stays. A clean-up has only Uninstall.
	Install, Uninstall func(ctx context.Context) error
	// Poll is the time between two looks at the cluster; 0 = 2s.
	Poll time.Duration
}

// Part plays the scenarios. Its methods are called one at a time.
type Part struct {
	cfg       Config
	plan      lkeprobe.Plan
	ready     bool // NodePool, class and namespace are there
	installed bool
}

// New returns the operator's part of a run.
func New(cfg Config) *Part {
	if cfg.Poll == 0 {
		cfg.Poll = 2 * time.Second
	}
	return &Part{cfg: cfg}
}

func (p *Part) name() string { return lkeprobe.NodePool(p.cfg.Run) }

// scenario is one test of the operator.
type scenario struct {
	lkeprobe.Step
	expects string
	play    func(ctx context.Context, s *stage) (saw string, err error)
}

const (
	brief = 15 * time.Minute
	long  = 25 * time.Minute
	// volumeDollars is the hourly price of the scenario's volume of 10 GB, rounded up.
	volumeDollars = 0.002
)

func (p *Part) scenarios() []scenario {
	step := func(name string, linodes, larger int, limit time.Duration) lkeprobe.Step {
		return lkeprobe.Step{Name: name, Nodes: linodes + larger, Linodes: linodes, Larger: larger, Limit: limit}
	}
	volume := step("volume", 1, 0, brief)
	volume.Dollars = volumeDollars
	all := []scenario{
		{step("up-and-down", 5, 0, brief), "five pods get five nodes, and the nodes go with the pods", upAndDown},
		{volume, "a pod with a volume runs, and the volume goes with its claim", withVolume},
		{step("cheaper", 1, 1, long), "a node of a larger plan is replaced by a cheaper node once its pod is small", cheaper},
		{step("drift", 2, 0, brief), "a new label of the NodePool replaces the node", drifted},
		{step("deleted-node", 2, 0, brief), "the Linode of a deleted Node goes, and its pod gets another node", deletedNode},
		{step("deleted-linode", 3, 0, long), "the pod of a deleted Linode gets another node, and nothing is left of the old one", deletedLinode},
		{step("killed", 6, 0, long), "five nodes come although the operator is killed on the way, and no sixth one stays", p.killed},
	}
	if p.cfg.Uninstall != nil {
		all = append(all, scenario{step("uninstall", 0, 0, brief), "the operator goes and leaves nothing", p.uninstall})
	}
	if p.cfg.Volumes == "" {
		all = append(all[:1:1], all[2:]...)
	}
	return all
}

// Steps implements lkeprobe.Operator.
func (p *Part) Steps() []lkeprobe.Step {
	var steps []lkeprobe.Step
	for _, s := range p.scenarios() {
		steps = append(steps, s.Step)
	}
	return steps
}

// Run implements lkeprobe.Operator.
func (p *Part) Run(ctx context.Context, step string, plan lkeprobe.Plan) report.Scenario {
	p.plan = plan
	for _, s := range p.scenarios() {
		if s.Name == step {
			return p.run(ctx, s)
		}
	}
	return report.Scenario{Name: step, Saw: "no such scenario"}
}

func (p *Part) run(ctx context.Context, s scenario) report.Scenario {
	out := report.Scenario{Name: s.Name, Expects: s.expects, Ran: true, Calls: -1}
	started, before := time.Now(), p.calls(ctx)
	st := &stage{Part: p, seen: map[string]string{}, most: s.Linodes + s.Larger}
	err := p.prepare(ctx)
	if err == nil {
		out.Saw, err = s.play(ctx, st)
	}
	if err == nil {
		err = st.emptied(ctx)
	}
	out.Passed = err == nil
	if err != nil {
		out.Saw = strings.TrimPrefix(out.Saw+"; "+err.Error(), "; ")
	}
	if after := p.calls(ctx); before >= 0 && after >= before && !st.restarted { // a new process counts from zero
		out.Calls = after - before
	}
	out.Seconds, out.Linodes = time.Since(started).Seconds(), len(st.seen)
	for _, plan := range st.seen {
		price := p.plan.Hourly
		if plan == p.plan.Larger {
			price = p.plan.LargerHourly
		}
		out.Dollars += price
	}
	return out
}

func (p *Part) calls(ctx context.Context) int {
	if p.cfg.Calls == nil {
		return -1
	}
	n, err := p.cfg.Calls(ctx)
	if err != nil {
		return -1
	}
	return n
}

// prepare makes the objects that all scenarios share, and installs the operator.
func (p *Part) prepare(ctx context.Context) error {
	if p.cfg.Install != nil && !p.installed {
		p.installed = true // set before the call: after an error, parts may be installed
		if err := p.cfg.Install(ctx); err != nil {
			return fmt.Errorf("the operator is not installed: %w", err)
		}
	}
	if p.ready {
		return nil
	}
	for _, object := range []client.Object{p.namespace(), p.class(), p.nodePool()} {
		if err := p.cfg.Kube.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	err := p.until(ctx, "the NodePool is ready", func(ctx context.Context) (bool, string, error) {
		pool := &karpv1.NodePool{}
		if err := p.cfg.Kube.Get(ctx, client.ObjectKey{Name: p.name()}, pool); err != nil {
			return false, "", err
		}
		for _, c := range pool.Status.Conditions {
			if c.Type == "Ready" {
				return c.Status == metav1.ConditionTrue, c.Message, nil
			}
		}
		return false, "it has no condition Ready: is the operator installed?", nil
	})
	p.ready = err == nil
	return err
}

// Remove implements lkeprobe.Operator. The operator removes the Linodes; the run's own clean-up removes the rest.
func (p *Part) Remove(ctx context.Context) []string {
	p.ready = false
	var left []string
	for _, object := range []client.Object{p.namespace(), p.nodePool()} {
		if err := p.cfg.Kube.Delete(ctx, object); err != nil && !gone(err) {
			left = append(left, fmt.Sprintf("%T %s: %v", object, object.GetName(), err))
		}
	}
	limited, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	st := &stage{Part: p, seen: map[string]string{}}
	err := p.until(limited, "the NodeClaims are gone", func(ctx context.Context) (bool, string, error) {
		claims, err := st.claims(ctx)
		if gone(err) {
			return true, "", nil
		}
		return len(claims) == 0, fmt.Sprintf("%d NodeClaims", len(claims)), err
	})
	if err != nil {
		left = append(left, err.Error())
	}
	if err := p.cfg.Kube.Delete(limited, p.class()); err != nil && !gone(err) {
		left = append(left, fmt.Sprintf("LinodeNodeClass %s: %v", p.name(), err))
	}
	// The class has the operator's finalizer. If the operator were uninstalled first, the class would stay for ever.
	if err := p.until(limited, "the LinodeNodeClass is gone", func(ctx context.Context) (bool, string, error) {
		err := p.cfg.Kube.Get(ctx, client.ObjectKeyFromObject(p.class()), p.class())
		if gone(err) {
			return true, "", nil
		}
		return false, "it still exists", err
	}); err != nil && len(left) == 0 {
		left = append(left, err.Error())
	}
	if (p.installed || p.cfg.Install == nil) && p.cfg.Uninstall != nil && len(left) == 0 {
		if err := p.cfg.Uninstall(ctx); err != nil {
			left = append(left, fmt.Sprintf("the operator: %v", err))
		} else {
			p.installed = false
		}
	}
	return left
}

// removal is the time in which the operator must remove the nodes of a run. After this time, the run itself removes their LKE pools.
const removal = 8 * time.Minute

// gone reports whether the error means that an object, or its kind, does not exist.
func gone(err error) bool {
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// until calls look every Config.Poll until look returns true, or until ctx ends. The error has the last observation. An error of look
// counts as an observation, except for errTooMany, which ends the wait.
func (p *Part) until(ctx context.Context, what string, look func(context.Context) (done bool, saw string, err error)) error {
	ticker := time.NewTicker(p.cfg.Poll)
	defer ticker.Stop()
	for {
		done, last, err := look(ctx)
		switch {
		case errors.Is(err, errTooMany):
			return err
		case err == nil && done:
			return nil
		case err != nil:
			last = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out before %s; last seen: %s", what, last)
		case <-ticker.C:
		}
	}
}

// linodeID returns the ID of the Linode in a provider ID. It returns 0 if the provider ID names no Linode.
func linodeID(providerID string) int {
	id, _ := strconv.Atoi(strings.TrimPrefix(providerID, "linode://"))
	return id
}

// KubeNodes reads Kubernetes Nodes for a run.
type KubeNodes struct{ Kube client.Reader }

// Nodes implements lkeprobe.Nodes.
func (n KubeNodes) Nodes(ctx context.Context) ([]lkeprobe.Node, error) {
	list := &corev1.NodeList{}
	if err := n.Kube.List(ctx, list); err != nil {
		return nil, err
	}
	var out []lkeprobe.Node
	for _, node := range list.Items {
		one := lkeprobe.Node{
			Name: node.Name, LinodeID: linodeID(node.Spec.ProviderID), Created: node.CreationTimestamp.Time,
			MemoryKiB: node.Status.Capacity.Memory().Value() >> 10, ForPods: node.Status.Allocatable.Memory().Value() >> 10,
		}
		for _, t := range node.Spec.Taints {
			one.Taints = append(one.Taints, t.Key)
		}
		for _, c := range node.Status.Conditions {
			one.Ready = one.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		out = append(out, one)
	}
	return out, nil
}

// absent reports whether a Linode does not exist or has the status deleting.
func absent(ctx context.Context, linodes Linodes, id int) (bool, string, error) {
	i, err := linodes.GetInstance(ctx, id)
	if linode.KindOf(err) == linode.KindNotFound {
		return true, "", nil
	}
	if err != nil {
		return false, "", err
	}
	return i.Status == api.InstanceStatusDeleting, "its Linode is " + string(i.Status), nil
}

// requestsMetric counts the operator's requests to the Linode API.
const requestsMetric = "karpenter_linode_api_requests_total"

// Requests sums the operator's requests to the Linode API in the text of its metrics.
func Requests(metrics string) int {
	total := 0.0
	for line := range strings.Lines(metrics) {
		series, value, found := strings.Cut(strings.TrimSpace(line), "} ")
		if n, err := strconv.ParseFloat(value, 64); found && err == nil && strings.HasPrefix(series, requestsMetric+"{") {
			total += n
		}
	}
	return int(total)
}
