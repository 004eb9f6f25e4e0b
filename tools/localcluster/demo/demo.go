package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

const (
	inflate = "inflate" // the Deployment, and its pods' label app
	wanted  = 5         // the pods that it is scaled to
)

// Limits of the waits; with the profile fast each takes well under a minute.
const (
	upTimeout     = 8 * time.Minute
	downTimeout   = 8 * time.Minute
	rebootTimeout = 5 * time.Minute
	finalTimeout  = 30 * time.Second // for the last reading
	poll          = 250 * time.Millisecond
)

// Simulator reads the records of the simulated LKE.
type Simulator interface {
	Snapshot() linodesim.State
	Audit() []linodesim.Entry
	CallsWith(token string) []linodesim.CallCount
}

// Config configures the demo.
type Config struct {
	Of       string // the text in the closing line: tier=standard, tier=enterprise, mode=instance tier=none or mode=clusterapi
	Class    string // the file of the LinodeNodeClass, in Examples
	NodePool string // and the file of the NodePool
	Examples string // the folder docs/examples
	Client   client.Client
	Sim      Simulator
	Token    string // the operator's, whose requests are counted

	// Linode reads the account in instance mode, with a token whose requests do not count as the operator's. It is nil in the other modes.
	Linode *linodehttp.Client
	// Machines is true in clusterapi mode: the demo counts the Machines of Cluster API.
	Machines bool

	Out   io.Writer
	Start time.Time // when the person typed the command
}

// Run runs the demo on a cluster that is up, with the operator running. It returns an
// error if a step fails or if a count of the closing line is wrong.
func Run(ctx context.Context, cfg Config) (Result, error) {
	d := &demo{
		Config:     cfg,
		table:      &table{out: cfg.Out, start: cfg.Start, plain: cfg.Linode != nil, machines: cfg.Machines},
		theirs:     pools(cfg.Sim.Snapshot()),
		before:     linodes(cfg.Sim.Snapshot()),
		nodeClaims: map[types.UID]bool{},
	}
	if cfg.Linode != nil {
		d.neighbours = &neighbours{kube: cfg.Client, linode: cfg.Linode}
	}
	err := d.run(ctx)
	r, unread := d.result(context.WithoutCancel(ctx))
	problems := r.problems()
	if err = errors.Join(err, unread); err != nil {
		problems = append([]string{err.Error()}, problems...)
	}
	if len(problems) > 0 {
		fmt.Fprintln(cfg.Out, strings.Replace(r.String(), "demo: ok", "demo: failed", 1))
		return r, errors.New(strings.Join(problems, "; "))
	}
	fmt.Fprintln(cfg.Out, r)
	return r, nil
}

type demo struct {
	Config
	table      *table
	theirs     map[int]bool // the user's pools: the pools that existed before the demo
	before     map[int]bool // the Linodes that existed before the demo
	nodeClaims map[types.UID]bool
	peak       row
	neighbours *neighbours // nil except in instance mode
	shown      beside      // the neighbours' figures of the last row before the demo deletes them
	reboots    int
}

func (d *demo) run(ctx context.Context) error {
	d.table.say("applying the LinodeNodeClass and NodePool \"default\" and the Deployment \"inflate\"")
	for _, file := range []string{d.Class, d.NodePool, "inflate.yaml"} {
		if _, err := manifest.ApplyFile(ctx, d.Client, filepath.Join(d.Examples, file)); err != nil {
			return err
		}
	}
	if err := d.nodePoolReady(ctx); err != nil {
		return err
	}
	d.table.say(fmt.Sprintf("scaling inflate 0 -> %d", wanted))
	if err := d.scale(ctx, wanted); err != nil {
		return err
	}
	if err := d.watch(ctx, upTimeout, "for the pods to be ready", row.unready); err != nil {
		return err
	}
	if d.neighbours != nil {
		if err := d.besideNodes(ctx); err != nil {
			return err
		}
	}
	d.table.say(fmt.Sprintf("scaling inflate %d -> 0; all of the NodePool's nodes may now go after %s", wanted, soon))
	if err := d.consolidateSoon(ctx); err != nil {
		return err
	}
	if err := d.scale(ctx, 0); err != nil {
		return err
	}
	return d.watch(ctx, downTimeout, "for the nodes to go away", row.present)
}

// besideNodes shows the other objects of instance mode, such as NodeBalancers, and removes them.
func (d *demo) besideNodes(ctx context.Context) error {
	d.table.say("applying the Service \"web\" (LoadBalancer) and the StatefulSet \"database\" with a volume")
	if err := d.neighbours.apply(ctx); err != nil {
		return err
	}
	if err := d.watch(ctx, upTimeout, "for the backends and the volume", func(r row) []string {
		return append(r.unready(), r.beside.missing()...)
	}); err != nil {
		return err
	}
	if err := d.reboot(ctx); err != nil {
		return err
	}
	d.shown = d.table.last.beside
	d.table.say("deleting the Service, the StatefulSet and its PersistentVolumeClaim")
	return d.neighbours.remove(ctx)
}

// soon is the NodePool's consolidateAfter while the nodes go. The example in docs/ has 30 seconds, in which a spectator would see no
// change.
const soon = 5 * time.Second

func (d *demo) consolidateSoon(ctx context.Context) error {
	pool := &karpv1.NodePool{}
	if err := d.Client.Get(ctx, client.ObjectKey{Name: "default"}, pool); err != nil {
		return err
	}
	patch := client.MergeFrom(pool.DeepCopy())
	pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration(soon.String())
	pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "100%"}} // core's default lets one of two nodes go at a time
	return d.Client.Patch(ctx, pool, patch)
}

func (d *demo) scale(ctx context.Context, replicas int32) error {
	deployment := &appsv1.Deployment{}
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: inflate}, deployment); err != nil {
		return err
	}
	patch := client.MergeFrom(deployment.DeepCopy())
	deployment.Spec.Replicas = &replicas
	return d.Client.Patch(ctx, deployment, patch)
}

// nodePoolReady waits until the NodePool is ready: the operator has checked the
// LinodeNodeClass, and Karpenter has checked the NodePool. A person who types the commands
// needs no such wait.
func (d *demo) nodePoolReady(ctx context.Context) error {
	return d.watch(ctx, upTimeout, "for the NodePool to be ready", func(row) []string {
		pool := &karpv1.NodePool{}
		if err := d.Client.Get(ctx, client.ObjectKey{Name: "default"}, pool); err != nil {
			return []string{err.Error()}
		}
		if condition := pool.StatusConditions().Get(status.ConditionReady); condition == nil {
			return []string{"it has no condition Ready"}
		} else if !condition.IsTrue() {
			return []string{condition.Reason + ": " + condition.Message}
		}
		return nil
	})
}

// watch shows rows until missing returns no text. When the timeout is over, the error has the last texts of missing.
func (d *demo) watch(ctx context.Context, timeout time.Duration, what string, missing func(row) []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("waited %s %s", timeout, what))
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last []string
	for {
		r, err := d.observe(ctx)
		if err == nil {
			d.table.show(r)
			if last = missing(r); len(last) == 0 {
				return nil
			}
		} else if ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), strings.Join(append(last, d.unread()...), ", "))
		case <-tick.C:
		}
	}
}

// unread returns the error of the last reading of the account, if it failed.
func (d *demo) unread() []string {
	if d.neighbours == nil || d.neighbours.err == nil {
		return nil
	}
	return []string{d.neighbours.err.Error()}
}

// nodes lists the nodes of the cluster.
func (d *demo) nodes(ctx context.Context) ([]corev1.Node, error) {
	list := &corev1.NodeList{}
	err := d.Client.List(ctx, list)
	return list.Items, err
}

func (d *demo) observe(ctx context.Context) (row, error) {
	r := row{}
	deployment := &appsv1.Deployment{}
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: inflate}, deployment); err != nil {
		return r, err
	}
	r.podsReady = int(deployment.Status.ReadyReplicas)
	if deployment.Spec.Replicas != nil {
		r.podsWanted = int(*deployment.Spec.Replicas)
	}
	claims := &karpv1.NodeClaimList{}
	if err := d.Client.List(ctx, claims); err != nil {
		return r, err
	}
	for _, claim := range claims.Items {
		d.nodeClaims[claim.UID] = true
		r.claims++
		if claim.Status.ProviderID != "" {
			r.claimsLaunched++
		}
	}
	nodes, err := d.nodes(ctx)
	if err != nil {
		return r, err
	}
	for _, node := range nodes {
		if _, karpenters := node.Labels[karpv1.NodePoolLabelKey]; !karpenters {
			continue
		}
		r.nodes++
		if nodeutils.GetCondition(&node, corev1.NodeReady).Status == corev1.ConditionTrue {
			r.nodesReady++
		}
	}
	d.observeLinode(&r)
	if err := d.observeMachines(ctx, &r); err != nil {
		return r, err
	}
	if d.neighbours != nil {
		r.beside = d.neighbours.observe(ctx, nodes)
	}
	d.peak.podsReady = max(d.peak.podsReady, r.podsReady)
	d.peak.nodesReady = max(d.peak.nodesReady, r.nodesReady)
	return r, nil
}

func (d *demo) observeLinode(r *row) {
	state := d.Sim.Snapshot()
	for id := range pools(state) {
		if !d.theirs[id] {
			r.pools++
		}
	}
	for _, cluster := range state.Clusters {
		for _, pool := range cluster.Pools {
			if !d.theirs[pool.ID] {
				r.count += pool.Count
			}
		}
	}
	for _, instance := range state.Instances {
		if !d.theirs[instance.PoolID] && !d.before[instance.ID] {
			r.instances++
		}
	}
	for _, calls := range d.Sim.CallsWith(d.Token) {
		if calls.Class == string(api.RateClassCollections) {
			r.collections += calls.N
		} else {
			r.others += calls.N
		}
	}
}

// result counts the objects at the peak and at the end. It reads the account's other objects once more.
func (d *demo) result(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, finalTimeout, fmt.Errorf("waited %s for the remaining objects", finalTimeout))
	defer cancel()
	var left row
	d.observeLinode(&left)
	unread := d.observeMachines(ctx, &left)
	made := 0
	for _, entry := range d.Sim.Audit() {
		if entry.Action == linodesim.InstanceCreated && !d.theirs[entry.PoolID] && !d.before[entry.InstanceID] {
			made++
		}
	}
	r := Result{
		of: d.Of, Pods: d.peak.podsReady, Wanted: wanted, nodes: d.peak.nodesReady,
		nodeClaims: len(d.nodeClaims), surplus: made - len(d.nodeClaims), Leaked: left.pools + left.instances + left.machines,
		apiCalls: left.collections + left.others, elapsed: time.Since(d.Start), ofMachines: d.Machines, machines: d.peak.machines,
	}
	if d.neighbours == nil {
		return r, unread
	}
	r.beside = &shown{beside: cmp.Or(d.shown, d.table.last.beside), reboots: d.reboots}
	assets, err := readAssets(ctx, d.Linode)
	r.Leaked += len(assets.balancers) + len(assets.volumes)
	return r, err
}

func pools(state linodesim.State) map[int]bool {
	ids := map[int]bool{}
	for _, cluster := range state.Clusters {
		for _, pool := range cluster.Pools {
			ids[pool.ID] = true
		}
	}
	return ids
}

func linodes(state linodesim.State) map[int]bool {
	ids := map[int]bool{}
	for _, i := range state.Instances {
		ids[i.ID] = true
	}
	return ids
}
