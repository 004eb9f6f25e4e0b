package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/util/podutils"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

// patience bounds every wait. It is far above what anything takes, so that a slow
// machine does not fail a test; no assertion depends on it.
const (
	patience = 4 * time.Minute
	interval = 250 * time.Millisecond
	// leisure is the interval of looks that cost more: the look for the rest of a scenario, which lists all NodeClaims and nodes, and
	// looks at events.
	leisure = 4 * interval
	// seldom is between looks through the Linode API, which refuses more than 200 reads of collections in a minute.
	seldom = 2 * time.Second
)

// environment is one local cluster with the operator running.
type environment struct {
	*localcluster.Cluster
	tier   string
	plain  bool // nodes are plain Linodes, as in instance mode
	fleet  bool // and nodes that are Machines of Cluster API
	kube   client.Client
	theirs map[int]bool // the pools that exist from the start, which are the user's
	before linodesim.State
	meant  []string // requests beyond the API's description that a scenario makes on purpose
	lane   string   // of a scenario that runs at the same time as others; "" = it runs alone on the cluster
	calm   *calm    // of the lanes; nil = no lane
}

func start(t *testing.T, name, tier string, values map[string]any, more ...func(*localcluster.Options)) *environment {
	t.Helper()
	options := localcluster.Options{
		Name: "e2e-" + name + "-" + tier, Tier: tier, Values: values, Progress: t.Output(), Audit: true,
		Kubernetes: controlplane.Release(),
		Env:        []string{"LOG_LEVEL=debug"}, // rare log lines may show the token, too
	}
	for _, set := range more {
		set(&options)
	}
	rights := auditRights(t)
	cluster, err := localcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatalf("starting the local cluster: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cluster.Stop(ctx)
	})
	kube, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	e := &environment{
		Cluster: cluster, tier: options.Tier, plain: options.Mode != localcluster.LKE && options.Mode != "",
		fleet: options.Mode == localcluster.ClusterAPI, kube: kube, theirs: map[int]bool{}, before: cluster.Sim.Snapshot(),
	}
	for _, pool := range pools(e.before) {
		e.theirs[pool.ID] = true
	}
	for _, operator := range cluster.Operators {
		go reelected(t.Context(), operator)
	}
	rights.of(t, e)
	t.Cleanup(func() { e.scan(t, options.Name) }) // before the cluster stops
	return e
}

// run runs one scenario and checks that the scenario leaves nothing behind: no
// NodeClaim, no node, no pool or instance that is not the user's, and that the
// user's own pools were never touched.
func (e *environment) run(t *testing.T, name string, scenario func(*testing.T, *environment)) {
	e.runScenario(t, name, scenario, e.clear)
}

// runScenario runs one scenario and its end, the end also after a failure: the next scenario
// is another question.
func (e *environment) runScenario(t *testing.T, name string, scenario func(*testing.T, *environment), end func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		described := false
		describe := func() {
			if t.Failed() && !described {
				e.describe(t)
				described = true
			}
		}
		defer describe()
		defer end(t)
		defer e.searchObjects(t) // before they are deleted
		defer describe()         // to show the state at the time of the failure
		scenario(t, e)
	})
}

// clear deletes the workloads and waits until the cluster is in its first state. Nodes go because no pod needs them: NodePools are
// deleted only afterwards.
func (e *environment) clear(t *testing.T) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	for _, list := range []client.Object{&appsv1.Deployment{}, &corev1.Pod{}} {
		g.Expect(e.kube.DeleteAllOf(ctx, list, e.namespace(), client.PropagationPolicy("Background"))).To(Succeed())
	}
	g.Eventually(ctx, func() string { return e.remains(ctx) }).WithTimeout(patience).WithPolling(leisure).Should(BeEmpty())
	g.Expect(e.kube.DeleteAllOf(ctx, &karpv1.NodePool{}, e.mine())).To(Succeed())
	e.withoutClasses(t)
	e.untouched(t)
}

// remains names what there is beyond what the user made.
func (e *environment) remains(ctx context.Context) string {
	var found []string
	claims := &karpv1.NodeClaimList{}
	if err := e.kube.List(ctx, claims, e.mine()); err != nil {
		return err.Error()
	}
	for _, claim := range claims.Items {
		found = append(found, "NodeClaim "+claim.Name)
	}
	nodes := &corev1.NodeList{}
	if err := e.kube.List(ctx, nodes, e.mine()); err != nil {
		return err.Error()
	}
	for _, node := range nodes.Items {
		if !e.isTheirs(node) {
			found = append(found, "Node "+node.Name)
		}
	}
	for _, pool := range e.ourPools() {
		found = append(found, fmt.Sprintf("pool %d of %d", pool.ID, pool.Count))
	}
	for _, instance := range e.ourInstances() {
		found = append(found, fmt.Sprintf("instance %d (%s)", instance.ID, instance.Label))
	}
	return strings.Join(found, ", ")
}

// untouched checks invariant I4, nothing outside our tagged pools is modified, and
// that all requests to the simulator and its answers conform to the API's
// description.
func (e *environment) untouched(t *testing.T) {
	t.Helper()
	for _, problem := range append(e.Sim.Violations(), e.Sim.Unknown()...) {
		if !slices.Contains(e.meant, problem) {
			t.Errorf("simulator: %s", problem)
		}
	}
	for _, entry := range e.Sim.Audit() {
		if entry.Actor != linodesim.LKE && e.theirs[entry.PoolID] && entry.Actor.RequestID != "" {
			t.Errorf("the user's pool %d was changed by a request: %+v", entry.PoolID, entry)
		}
	}
}

func (e *environment) isTheirs(node corev1.Node) bool {
	return slices.ContainsFunc(e.before.Instances, func(i linodesim.Instance) bool { return i.Label == node.Name })
}

func pools(state linodesim.State) []linodesim.Pool {
	var all []linodesim.Pool
	for _, cluster := range state.Clusters {
		all = append(all, cluster.Pools...)
	}
	return all
}

func (e *environment) ourPools() []linodesim.Pool {
	return slices.DeleteFunc(pools(e.Sim.Snapshot()), func(p linodesim.Pool) bool { return e.theirs[p.ID] || !e.taggedMine(p.Tags) })
}

func (e *environment) ourInstances() []linodesim.Instance {
	ever := e.madeEver()
	return slices.DeleteFunc(e.Sim.Snapshot().Instances, func(i linodesim.Instance) bool {
		return !e.ofMine(i.PoolID, i.ID, ever) || slices.ContainsFunc(e.before.Instances, func(b linodesim.Instance) bool { return b.ID == i.ID })
	})
}

// made counts the instances that the simulator has made for pools that are not the user's.
func (e *environment) made() int {
	return history{e, 0}.made()
}

func (e *environment) nodeClaims(ctx context.Context, g Gomega) []karpv1.NodeClaim {
	list := &karpv1.NodeClaimList{}
	g.Expect(e.kube.List(ctx, list, e.mine())).To(Succeed())
	return list.Items
}

func (e *environment) karpenterNodes(ctx context.Context, g Gomega) []corev1.Node {
	list := &corev1.NodeList{}
	g.Expect(e.kube.List(ctx, list, client.HasLabels{karpv1.NodePoolLabelKey}, e.mine())).To(Succeed())
	return list.Items
}

func (e *environment) pods(ctx context.Context, g Gomega, app string) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(e.kube.List(ctx, list, e.namespace(), client.MatchingLabels{"app": app})).To(Succeed())
	return list.Items
}

// apply applies a YAML document, or a file of docs/examples when it names one.
func (e *environment) apply(t *testing.T, yaml string) {
	t.Helper()
	var err error
	if strings.HasSuffix(yaml, ".yaml") {
		_, err = manifest.ApplyFile(t.Context(), e.kube, filepath.Join(repositoryRoot(t), "docs", "examples", yaml), e.into)
	} else {
		_, err = manifest.Apply(t.Context(), e.kube, []byte(yaml), e.into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (e *environment) scale(t *testing.T, name string, replicas int) {
	t.Helper()
	e.setReplicas(t, &appsv1.Deployment{}, name, replicas)
}

func (e *environment) setReplicas(t *testing.T, object client.Object, name string, replicas int) {
	t.Helper()
	object.SetNamespace(string(e.namespace()))
	object.SetName(name)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas))
	NewWithT(t).Expect(e.kube.Patch(t.Context(), object, patch)).To(Succeed())
}

// settled waits until a Deployment has all its pods ready and every NodeClaim of
// the cluster has an initialized node.
func (e *environment) settled(t *testing.T, app string, replicas int) {
	t.Helper()
	defer e.calm.placed()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		ready := 0
		for _, pod := range e.pods(ctx, g, app) {
			if podutils.IsPodReady(&pod) {
				ready++
			}
		}
		g.Expect(ready).To(Equal(replicas), "ready pods of %s", app)
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()).To(BeTrue(), "NodeClaim %s is initialized", claim.Name)
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// oneToOne waits until NodeClaims, nodes and instances are the same set, by provider
// ID, and returns how many there are. An instance goes a moment before its NodeClaim
// and comes a moment after; history and made report whether too many were ever made.
func (e *environment) oneToOne(t *testing.T) int {
	t.Helper()
	ctx, n := t.Context(), 0
	NewWithT(t).Eventually(ctx, func(g Gomega) { n = e.sameSet(ctx, g) }).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return n
}

// matched is oneToOne for n.
func (e *environment) matched(t *testing.T, n int) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) { g.Expect(e.sameSet(ctx, g)).To(Equal(n), "NodeClaims") }).
		WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

func (e *environment) sameSet(ctx context.Context, g Gomega) int {
	var claims, nodes, instances []string
	for _, claim := range e.nodeClaims(ctx, g) {
		claims = append(claims, claim.Status.ProviderID)
	}
	for _, node := range e.karpenterNodes(ctx, g) {
		nodes = append(nodes, node.Spec.ProviderID)
	}
	for _, instance := range e.ourInstances() {
		instances = append(instances, fmt.Sprintf("linode://%d", instance.ID))
	}
	g.Expect(nodes).To(ConsistOf(claims), "nodes and NodeClaims")
	g.Expect(instances).To(ConsistOf(claims), "instances and NodeClaims")
	return len(claims)
}

// event waits for an event on an object whose message has all the words.
func (e *environment) event(t *testing.T, kind, name string, words ...string) {
	t.Helper()
	ctx := t.Context()
	if kind == "NodePool" || kind == "LinodeNodeClass" {
		name = e.named(name)
	}
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		list := &corev1.EventList{}
		g.Expect(e.kube.List(ctx, list, eventsOn(kind, name))).To(Succeed())
		var seen []string
		for _, event := range list.Items {
			text := event.Reason + ": " + event.Message
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
				return
			}
			seen = append(seen, text)
		}
		g.Expect(seen).To(ContainElement("an event with "+strings.Join(words, ", ")), "events on %s %s", kind, name)
	}).WithTimeout(patience).WithPolling(leisure).Should(Succeed())
}

// eventsOn selects the events on objects of a kind, or on the one with a name. The API server has no cache of events: it reads all of them
// for each list, and encodes the selected events.
func eventsOn(kind, name string) client.MatchingFields {
	on := client.MatchingFields{"involvedObject.kind": kind}
	if name != "" {
		on["involvedObject.name"] = name
	}
	return on
}

// describe prints what a person would look at after a failure.
func (e *environment) describe(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	t.Logf("remains: %s", e.remains(ctx))
	t.Logf("pods that are not ready:\n%s", strings.Join(e.unready(ctx), "\n"))
	t.Logf("events:\n%s", strings.Join(e.events(ctx), "\n"))
	t.Logf("the operator's log: %s", e.Operator.LogPath())
	if log, err := os.ReadFile(e.Operator.LogPath()); err == nil {
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		t.Logf("its last lines:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

// unready returns each pod that is not ready, with its conditions.
func (e *environment) unready(ctx context.Context) []string {
	list := &corev1.PodList{}
	if err := e.kube.List(ctx, list, e.namespace()); err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, pod := range list.Items {
		if podutils.IsPodReady(&pod) {
			continue
		}
		line := fmt.Sprintf("%s on %q is %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
		for _, c := range pod.Status.Conditions {
			line += fmt.Sprintf("; %s %s since %s", c.Type, c.Status, c.LastTransitionTime.UTC().Format(time.TimeOnly))
		}
		all = append(all, line)
	}
	return all
}

// events are the events on nodes, NodeClaims, NodePools and classes, as kubectl shows them.
func (e *environment) events(ctx context.Context) []string {
	list := &corev1.EventList{}
	if err := e.kube.List(ctx, list); err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, event := range list.Items {
		if event.InvolvedObject.Kind != "Pod" && event.Source.Component == "karpenter" {
			all = append(all, fmt.Sprintf("%s %s/%s %s: %s", event.LastTimestamp.UTC().Format(time.TimeOnly),
				event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message))
		}
	}
	slices.Sort(all)
	return all
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := controlplane.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
