package demo

import (
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
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

// wanted is the number of pods that the demo scales to.
const wanted = 5

// Limits of the two waits; with the profile fast each takes well under a minute.
const (
	upTimeout   = 8 * time.Minute
	downTimeout = 8 * time.Minute
	poll        = 250 * time.Millisecond
)

// Simulator reads the records of the simulated LKE.
type Simulator interface {
	Snapshot() linodesim.State
	Audit() []linodesim.Entry
	CallsWith(token string) []linodesim.CallCount
}

// Config is where the demo runs.
type Config struct {
	Of       string // what the closing line names: tier=standard, tier=enterprise or mode=instance
	Plain    bool   // in instance mode: Linodes without LKE pools
	Class    string // the file of the LinodeNodeClass, in Examples
	Examples string // the folder docs/examples
	Client   client.Client
	Sim      Simulator
	Token    string // the operator's, whose requests are counted
	Out      io.Writer
	Start    time.Time // when the person typed the command
}

// Run runs the demo on a cluster that is up, with the operator running. It returns
// an error when any of what the closing line states is not as it must be.
func Run(ctx context.Context, cfg Config) (Result, error) {
	d := &demo{
		Config:     cfg,
		table:      &table{out: cfg.Out, start: cfg.Start, plain: cfg.Plain},
		theirs:     pools(cfg.Sim.Snapshot()),
		before:     linodes(cfg.Sim.Snapshot()),
		nodeClaims: map[types.UID]bool{},
	}
	err := d.run(ctx)
	r := d.result()
	problems := r.problems()
	if err != nil {
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
	theirs     map[int]bool // pools that existed before: the user's
	before     map[int]bool // and Linodes
	nodeClaims map[types.UID]bool
	peak       row
}

func (d *demo) run(ctx context.Context) error {
	d.table.say("applying the LinodeNodeClass and NodePool \"default\" and the Deployment \"inflate\"")
	for _, file := range []string{d.Class, "nodepool.yaml", "inflate.yaml"} {
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
	if err := d.watch(ctx, upTimeout, "for the pods to be ready", func(r row) bool {
		return r.podsReady == wanted && r.nodesReady == r.nodes && r.nodes == r.claims
	}); err != nil {
		return err
	}
	d.table.say(fmt.Sprintf("scaling inflate %d -> 0", wanted))
	if err := d.scale(ctx, 0); err != nil {
		return err
	}
	return d.watch(ctx, downTimeout, "for the nodes to go away", func(r row) bool {
		return r.claims == 0 && r.nodes == 0 && r.pools == 0 && r.instances == 0
	})
}

func (d *demo) scale(ctx context.Context, replicas int32) error {
	inflate := &appsv1.Deployment{}
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "inflate"}, inflate); err != nil {
		return err
	}
	patch := client.MergeFrom(inflate.DeepCopy())
	inflate.Spec.Replicas = &replicas
	return d.Client.Patch(ctx, inflate, patch)
}

// nodePoolReady waits until nodes may be made: the operator has checked the
// LinodeNodeClass, and Karpenter the NodePool. A person takes longer to type.
func (d *demo) nodePoolReady(ctx context.Context) error {
	return d.watch(ctx, upTimeout, "for the NodePool to be ready", func(row) bool {
		pool := &karpv1.NodePool{}
		err := d.Client.Get(ctx, client.ObjectKey{Name: "default"}, pool)
		return err == nil && pool.StatusConditions().Get(status.ConditionReady).IsTrue()
	})
}

// watch shows rows until done returns true.
func (d *demo) watch(ctx context.Context, timeout time.Duration, what string, done func(row) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("waited %s %s", timeout, what))
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		r, err := d.observe(ctx)
		if err == nil {
			d.table.show(r)
			if done(r) {
				return nil
			}
		} else if ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (d *demo) observe(ctx context.Context) (row, error) {
	r := row{}
	inflate := &appsv1.Deployment{}
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "inflate"}, inflate); err != nil {
		return r, err
	}
	r.podsReady = int(inflate.Status.ReadyReplicas)
	if inflate.Spec.Replicas != nil {
		r.podsWanted = int(*inflate.Spec.Replicas)
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
	nodes := &corev1.NodeList{}
	if err := d.Client.List(ctx, nodes, client.HasLabels{karpv1.NodePoolLabelKey}); err != nil {
		return r, err
	}
	for _, node := range nodes.Items {
		r.nodes++
		if nodeutils.GetCondition(&node, corev1.NodeReady).Status == corev1.ConditionTrue {
			r.nodesReady++
		}
	}
	d.observeLKE(&r)
	d.peak.podsReady = max(d.peak.podsReady, r.podsReady)
	d.peak.nodesReady = max(d.peak.nodesReady, r.nodesReady)
	return r, nil
}

func (d *demo) observeLKE(r *row) {
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

func (d *demo) result() Result {
	var left row
	d.observeLKE(&left)
	made := 0
	for _, entry := range d.Sim.Audit() {
		if entry.Action == linodesim.InstanceCreated && !d.theirs[entry.PoolID] && !d.before[entry.InstanceID] {
			made++
		}
	}
	return Result{
		of: d.Of, Pods: d.peak.podsReady, Wanted: wanted, nodes: d.peak.nodesReady,
		nodeClaims: len(d.nodeClaims), surplus: made - len(d.nodeClaims), Leaked: left.pools + left.instances,
		apiCalls: left.collections + left.others, elapsed: time.Since(d.Start),
	}
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
