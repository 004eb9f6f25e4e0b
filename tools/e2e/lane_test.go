package e2e_test

import (
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// laneLabel is on the NodePools, NodeClaims, nodes and classes of a lane, and its pods select nodes by it.
const laneLabel = "example.com/lane"

// A part is a scenario that runs beside others on one cluster, in a lane of its own: a namespace, and NodePools and
// classes with a name and a label of the lane. A change for the whole account must not affect the other parts.
type part struct {
	lane, name string
	do         func(*testing.T, *environment)
	end        func(*environment, *testing.T)
	ended      func() // called when it has ended, or was not chosen to run
}

func inLane(lane, name string, do func(*testing.T, *environment), end func(*environment, *testing.T)) part {
	return part{lane: lane, name: name, do: do, end: end, ended: func() {}}
}

// cleared and swept are the ends of run and scenario.
var (
	cleared = (*environment).clear
	swept   = (*environment).sweep
)

// together runs the parts at the same time, and checks at the end that no objects are left in any lane or outside of the lanes.
func (e *environment) together(t *testing.T, parts ...part) {
	t.Helper()
	var running, waiting sync.WaitGroup
	waiting.Add(len(parts))
	came := make(chan struct{})
	go func() { waiting.Wait(); close(came) }()
	for _, p := range parts {
		lane := e.beside(t, p.lane)
		lane.calm = &calm{first: sync.OnceFunc(waiting.Done), came: came}
		running.Go(func() {
			defer p.ended()
			defer lane.calm.placed()
			lane.runScenario(t, p.name, p.do, func(t *testing.T) { t.Helper(); p.end(lane, t) })
		})
	}
	running.Wait()
	NewWithT(t).Eventually(t.Context(),
		func() string { return e.remains(t.Context()) }).WithTimeout(patience).WithPolling(leisure).Should(BeEmpty())
}

// calm is when the first pods of every lane of a group have their nodes. Before, a lane's replacement of a node that drifted may add a
// node for a pod of another lane: core plans a replacement for all pods that wait, beside its provisioner, which makes a node for them
// as well. The second one goes as soon as consolidation finds it empty.
type calm struct {
	first func()          // called, maybe again and again, when the lane's first pods have their nodes, and when it ends
	came  <-chan struct{} // closed
}

func (c *calm) placed() {
	if c != nil {
		c.first()
	}
}

// calmed waits for it. A lane does so before it makes a node drift, or ill.
func (e *environment) calmed(t *testing.T) {
	t.Helper()
	if e.calm == nil {
		return
	}
	e.calm.placed()
	select {
	case <-e.calm.came:
	case <-t.Context().Done():
	}
}

// beside returns the environment of a scenario that has one lane of the cluster.
func (e *environment) beside(t *testing.T, lane string) *environment {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	part := *e
	part.lane = lane
	g.Expect(e.kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lane}})).To(Succeed())
	g.Eventually(ctx, func() error { // without it Pods are refused
		return e.kube.Get(ctx, client.ObjectKey{Namespace: lane, Name: "default"}, &corev1.ServiceAccount{})
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return &part
}

// namespace is where the scenario's workloads are.
func (e *environment) namespace() client.InNamespace {
	if e.lane == "" {
		return metav1.NamespaceDefault
	}
	return client.InNamespace(e.lane)
}

// mine selects the scenario's NodePools, NodeClaims, nodes and classes; all of them outside of a lane.
func (e *environment) mine() client.MatchingLabels {
	if e.lane == "" {
		return nil
	}
	return client.MatchingLabels{laneLabel: e.lane}
}

// named is the name in the cluster of a NodePool or class of the scenario.
func (e *environment) named(name string) string {
	switch {
	case e.lane == "":
		return name
	case name == "default":
		return e.lane
	}
	return e.lane + "-" + name
}

func (e *environment) isMine(nodePool string) bool {
	return e.lane == "" || nodePool == e.lane || strings.HasPrefix(nodePool, e.lane+"-")
}

// taggedMine looks for the tag that names a NodePool of the scenario.
func (e *environment) taggedMine(tags []string) bool {
	for _, tag := range tags {
		if nodePool, is := strings.CutPrefix(tag, karpv1.NodePoolLabelKey+"="); is {
			return e.isMine(nodePool)
		}
	}
	return e.lane == ""
}

// madeEver are the IDs of the LKE pools, or of the plain Linodes, that were ever made for the scenario's NodePools; nil
// outside of a lane.
func (e *environment) madeEver() map[int]bool {
	if e.lane == "" {
		return nil
	}
	ids := map[int]bool{}
	for _, entry := range e.Sim.Audit() {
		switch {
		case entry.Action == linodesim.PoolCreated && e.taggedMine(strings.Split(entry.Tags, ",")):
			ids[entry.PoolID] = true
		case e.plain && entry.Action == linodesim.InstanceCreated && e.labelledMine(entry.After):
			ids[entry.InstanceID] = true
		}
	}
	return ids
}

// ofMachines lets a class select the lane's MachineDeployments, and a NodePool expect Cluster API's taint.
func (e *environment) ofMachines(object *unstructured.Unstructured) {
	switch object.GetKind() {
	case "NodePool":
		taint := []any{map[string]any{"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}}
		if err := unstructured.SetNestedSlice(object.Object, taint, "spec", "template", "spec", "startupTaints"); err != nil {
			panic(err) // the YAML is a test's own
		}
	case "LinodeNodeClass":
		if e.lane != "" {
			setField(object, e.lane, "spec", "machineDeploymentSelector", "matchLabels", laneLabel)
		}
	}
}

// labelledMine looks for the NodePool in the label of a plain Linode: cluster, NodePool and five characters. That of a Machine begins with
// the name of its MachineDeployment.
func (e *environment) labelledMine(label string) bool {
	if e.fleet {
		return strings.HasPrefix(label, e.lane+"-")
	}
	nodeClaim, ours := strings.CutPrefix(label, e.Name+"-")
	end := strings.LastIndexByte(nodeClaim, '-')
	return ours && end > 0 && e.isMine(nodeClaim[:end])
}

// ofMine reports whether an LKE pool or a plain Linode is of the scenario. ever comes from madeEver.
func (e *environment) ofMine(pool, linode int, ever map[int]bool) bool {
	if e.plain {
		return e.lane == "" || ever[linode]
	}
	return !e.theirs[pool] && (e.lane == "" || ever[pool])
}

// into moves an object of a YAML file into the lane.
func (e *environment) into(object *unstructured.Unstructured) {
	switch {
	case e.fleet:
		e.ofMachines(object)
	case object.GetKind() == "LinodeNodeClass" && e.plain:
		installs(object)
	}
	if e.lane == "" {
		return
	}
	switch object.GetKind() {
	case "NodePool":
		e.rename(object)
		setField(object, e.lane, "spec", "template", "metadata", "labels", laneLabel)
		ref, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "nodeClassRef", "name")
		setField(object, e.named(ref), "spec", "template", "spec", "nodeClassRef", "name")
	case "LinodeNodeClass":
		e.rename(object)
	case "Deployment", "StatefulSet", "DaemonSet":
		setField(object, e.lane, "spec", "template", "spec", "nodeSelector", laneLabel)
	case "Pod":
		setField(object, e.lane, "spec", "nodeSelector", laneLabel)
	}
	if object.GetNamespace() == metav1.NamespaceDefault {
		object.SetNamespace(e.lane)
	}
}

// withoutKubeadm is the name of the class that installs does not change.
const withoutKubeadm = "without-kubeadm"

// installs gives a class of kubeadm on a public image an install step, without which it is refused.
func installs(class *unstructured.Unstructured) {
	if class.GetName() == withoutKubeadm {
		return
	}
	image, _, _ := unstructured.NestedString(class.Object, "spec", "image")
	kind, _, _ := unstructured.NestedString(class.Object, "spec", "bootstrap", "type")
	commands, _, _ := unstructured.NestedSlice(class.Object, "spec", "bootstrap", "preJoinCommands")
	if len(commands) > 0 || kind != "" && kind != "kubeadm" || image != "" && !strings.HasPrefix(image, v1alpha1.PublicImagePrefix) {
		return
	}
	step := []any{"apt-get install --yes containerd kubeadm kubelet"}
	if err := unstructured.SetNestedSlice(class.Object, step, "spec", "bootstrap", "preJoinCommands"); err != nil {
		panic(err)
	}
}

func (e *environment) rename(object *unstructured.Unstructured) {
	object.SetName(e.named(object.GetName()))
	setField(object, e.lane, "metadata", "labels", laneLabel)
}

func setField(object *unstructured.Unstructured, value string, path ...string) {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic(err) // the YAML is a test's own
	}
}
