package e2e_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// TestInstanceNeighbours and TestInstanceVPC have nodes together with the cloud controller manager and the block storage driver, without
// and with a VPC. It is unknown when a reboot detaches volumes, so each test assumes another time.

func TestInstanceNeighbours(t *testing.T) {
	t.Parallel()
	e := start(t, "neighbours", "standard", soonCollected(), plainLinodes(-1))
	e.apply(t, waitingClass("late", ""))
	e.together(t,
		inLane("balancer", "nodes with private addresses come and go behind a NodeBalancer", behindBalancer("", "192.168.0.0/16"), swept),
		inLane("database", "a StatefulSet through scale-up, consolidation, drift and a reboot", databaseRebooted(""), swept),
		inLane("volumes", "28 pods with a volume each come to rest", volumesRest, swept),
	)
	e.scenario(t, "a class without an address in the cluster is named", unaddressed)
}

// The manager has a VPC and a filter by tag here. Each way to join has a real kubelet.
func TestInstanceVPC(t *testing.T) {
	t.Parallel()
	e, neighbours, boots := startInVPC(t, map[string]any{"settings": vpcSettings()})
	e.together(t, append(neighbours, boots)...)
	e.scenario(t, "a class outside of the manager's VPC is not ready", func(t *testing.T, e *environment) {
		e.apply(t, class("{}"))
		e.bootstrapReady(t, "default", metav1.ConditionFalse, v1alpha1.ReasonVPCMismatch)
	})
}

func vpcSettings() map[string]any {
	return map[string]any{"instance": map[string]any{
		"tags": []any{"cluster=prod"}, "secrets": []any{map[string]any{"namespace": "kube-system", "name": "boots"}},
	}}
}

// startInVPC starts a cluster whose cloud controller manager has a VPC and a filter by tag: it finds nothing else. It returns what such
// nodes do with the account's other objects, and the ways to join.
func startInVPC(t *testing.T, values map[string]any) (e *environment, neighbours []part, boots part) {
	t.Helper()
	e = start(t, "vpc", "standard", values, func(o *localcluster.Options) {
		o.Mode, o.KwokPools = localcluster.Instance, []string{"balancer", "database"}
		o.CloudController = localcluster.CloudController{VPC: "prod-net", TagFilter: "cluster=prod"}
		o.Behaviour = linodesim.Behaviour{PassingVolumes: linodesim.DetachAtBoot}
	})
	images := map[string]string{"talos": e.image(t, "talos-worker"), "flatcar": e.image(t, "flatcar-stable")}
	e.before = e.Sim.Snapshot()
	e.bootSecrets(t)
	e.apply(t, waitingClass("late", ""))
	inVPC := fmt.Sprintf("vpcID: %d, subnetID: %d", e.VPCID, e.SubnetID)
	neighbours = []part{
		inLane("balancer", "nodes in the manager's VPC come and go behind a NodeBalancer", behindBalancer(inVPC, "10.0.0.0/16"), swept),
		inLane("database", "a StatefulSet through scale-up, consolidation, drift and a reboot", databaseRebooted(inVPC), swept),
		inLane("images", "an image without kubeadm is refused", func(t *testing.T, e *environment) { e.refusedImage(t, inVPC) }, swept),
	}
	return e, neighbours, inLane("boots", "nodes of every way to join run pods, and again after a reboot", func(t *testing.T, e *environment) {
		e.joined(t, goodBoots(e, images, inVPC))
	}, swept)
}

// behindBalancer follows a Service through a scale-up, a deleted node and a scale-down.
func behindBalancer(fields, network string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "web"
		e.nodePool(t, nodePoolSpec{class: specOf(fields)})
		e.apply(t, deployment(app, 3, apart(app)))
		e.settled(t, app, 3)
		// Not before: Kubernetes' controller lets its passes over a Service and over all nodes run beside each other, and when one with
		// older nodes writes last, nothing repeats the other until a node changes (kubernetes/kubernetes issues 53462 and 100846).
		e.apply(t, `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`)
		e.allBackends(t, 3, network)

		watched := e.watchBackends(t)
		ctx, g := t.Context(), NewWithT(t)
		gone := e.karpenterNodes(ctx, g)[0]
		g.Expect(e.kube.Delete(ctx, &gone)).To(Succeed())
		e.settled(t, app, 3)
		e.allBackends(t, 3, network)

		e.setReplicas(t, &appsv1.Deployment{}, app, 1)
		e.matched(t, 1)
		e.allBackends(t, 1, network)
		watched()
		e.unbehindBalancer(t)
	}
}

// specOf is the spec of a class with these fields of a YAML flow map; "" for none.
func specOf(fields ...string) string {
	fields = slices.DeleteFunc(fields, func(f string) bool { return f == "" })
	if len(fields) == 0 {
		return ""
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// balancerLag bounds how late the manager may follow a node: the next reading of the Linodes, of the nodes, and a busy machine.
const balancerLag = 20 * time.Second

// watchBackends looks at the NodeBalancer once a second from now on. What it returns ends that and checks what was seen: a node that
// served was a backend that answers, without a gap once it was one; backends that did not answer were of nodes that went, and went as
// well; and the manager was able to build the NodeBalancer each time.
func (e *environment) watchBackends(t *testing.T) (ended func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &backendWatch{serving: map[string]time.Time{}, joined: map[string]bool{}, down: map[string]time.Time{}}
	path := e.balancerPath(t)
	var done sync.WaitGroup
	done.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) { w.look(ctx, e, path) }, time.Second)
	})
	end := sync.OnceFunc(func() { stop(); done.Wait() })
	t.Cleanup(end)
	return func() {
		t.Helper()
		end()
		t.Logf("%d looks at the NodeBalancer, %d to %d backends that answer, none silent for longer than %s", w.looks, w.least, w.most,
			w.silent.Round(time.Second))
		if w.looks < 5 || len(w.wrong) > 0 || w.least == 0 {
			t.Errorf("%d looks, at least %d backends that answer, and %d faults:\n%s", w.looks, w.least, len(w.wrong),
				strings.Join(w.wrong[:min(len(w.wrong), 10)], "\n"))
		}
		events := &corev1.EventList{}
		NewWithT(t).Expect(e.kube.List(t.Context(), events, e.namespace())).To(Succeed())
		for _, event := range events.Items {
			if event.InvolvedObject.Kind == "Service" && event.Type == corev1.EventTypeWarning {
				t.Errorf("the manager failed: %s: %s", event.Reason, event.Message)
			}
		}
	}
}

// backendWatch records what was seen of a NodeBalancer.
type backendWatch struct {
	serving            map[string]time.Time // nodes that can serve, by name, since when
	joined             map[string]bool      // the Linodes that were backends
	down               map[string]time.Time // backends that do not answer, by address, since when
	looks, least, most int
	silent             time.Duration // of a backend
	wrong              []string
}

// look compares the backends with the nodes, which are read afterwards: a node that is ready then was ready before.
func (w *backendWatch) look(ctx context.Context, e *environment, path string) {
	backends, err := e.backendsAt(ctx, path)
	nodes := &corev1.NodeList{}
	if err == nil {
		err = e.kube.List(ctx, nodes)
	}
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	fault := func(format string, args ...any) {
		w.wrong = append(w.wrong, now.UTC().Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
	}
	if err != nil {
		fault("%v", err)
		return
	}
	answers, down := map[string]bool{}, map[string]time.Time{}
	for _, b := range backends {
		host, _, _ := net.SplitHostPort(b.Address)
		if b.Status == api.NodeBalancerNodeStatusUP {
			answers[host] = true
			continue
		}
		down[host] = now
		if since, was := w.down[host]; was {
			down[host] = since
		}
		w.silent = max(w.silent, now.Sub(down[host]))
		if now.Sub(down[host]) > balancerLag {
			fault("backend %s has not answered for %s", host, now.Sub(down[host]).Round(time.Second))
		}
	}
	serving, joined := map[string]time.Time{}, map[string]bool{}
	running := e.runningLinodes()
	for _, node := range nodes.Items {
		if pool := node.Labels[karpv1.NodePoolLabelKey]; pool != "" && !e.isMine(pool) || !serves(node) || !running[node.Spec.ProviderID] {
			continue // other lanes reboot their nodes
		}
		since, before := w.serving[node.Name]
		if !before {
			since = now
		}
		serving[node.Name], joined[node.Name] = since, w.joined[node.Name]
		switch host := internalIP(node); {
		case answers[host]:
			joined[node.Name] = true
		case joined[node.Name]:
			fault("node %s with %s is no backend that answers any more", node.Name, host)
		case now.Sub(since) > balancerLag:
			fault("node %s with %s has served for %s and is no backend that answers", node.Name, host, now.Sub(since).Round(time.Second))
		}
	}
	w.serving, w.joined, w.down = serving, joined, down
	if w.looks == 0 {
		w.least = len(answers)
	}
	w.looks, w.least, w.most = w.looks+1, min(w.least, len(answers)), max(w.most, len(answers))
}

// serves reports whether Kubernetes sends a NodeBalancer's traffic to a node.
func serves(node corev1.Node) bool {
	_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
	return !excluded && node.DeletionTimestamp == nil && node.Spec.ProviderID != "" &&
		nodeutils.GetCondition(&node, corev1.NodeReady).Status == corev1.ConditionTrue
}

// runningLinodes are the provider IDs of running Linodes: a Linode that reboots does not answer.
func (e *environment) runningLinodes() map[string]bool {
	running := map[string]bool{}
	for _, i := range e.Sim.Snapshot().Instances {
		running[fmt.Sprintf("linode://%d", i.ID)] = i.Status == linodesim.StatusRunning
	}
	return running
}

// allBackends waits until the NodeBalancer's backends are exactly the cluster's nodes, all healthy, by addresses in the network.
func (e *environment) allBackends(t *testing.T, karpenters int, network string) {
	t.Helper()
	_, within, err := net.ParseCIDR(network)
	if err != nil {
		t.Fatal(err)
	}
	ctx, path := t.Context(), e.balancerPath(t)
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		nodes := &corev1.NodeList{}
		g.Expect(e.kube.List(ctx, nodes)).To(Succeed())
		g.Expect(e.karpenterNodes(ctx, g)).To(HaveLen(karpenters))
		var want []string
		for _, node := range nodes.Items {
			want = append(want, internalIP(node))
		}
		var got []string
		backends, err := e.backendsAt(ctx, path)
		g.Expect(err).NotTo(HaveOccurred())
		for _, b := range backends {
			host, port, err := net.SplitHostPort(b.Address)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(port).NotTo(Equal("0"))
			g.Expect(b.Status).To(Equal(api.NodeBalancerNodeStatusUP), "backend %s", b.Address)
			g.Expect(within.Contains(net.ParseIP(host))).To(BeTrue(), "backend %s is in %s", host, network)
			got = append(got, host)
		}
		g.Expect(got).To(ConsistOf(want), "backends of the nodes' internal addresses")
	}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
}

func internalIP(node corev1.Node) string {
	at := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if at < 0 {
		return "none of " + node.Name
	}
	return node.Status.Addresses[at].Address
}

// balancerPath waits for the only port of the only NodeBalancer, and returns the path of its backends.
func (e *environment) balancerPath(t *testing.T) (path string) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		var balancers struct{ Data []api.NodeBalancer }
		e.get(t, "/nodebalancers", &balancers)
		g.Expect(balancers.Data).To(HaveLen(1), "NodeBalancers")
		var configs struct{ Data []api.NodeBalancerConfig }
		e.get(t, fmt.Sprintf("/nodebalancers/%d/configs", balancers.Data[0].ID), &configs)
		g.Expect(configs.Data).To(HaveLen(1), "ports")
		path = fmt.Sprintf("/nodebalancers/%d/configs/%d/nodes", balancers.Data[0].ID, configs.Data[0].ID)
	}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
	return path
}

// backendsAt reads a NodeBalancer's backends.
func (e *environment) backendsAt(ctx context.Context, path string) ([]api.NodeBalancerNode, error) {
	return linodehttp.List[api.NodeBalancerNode](ctx, e.owner(), path, "")
}

// unbehindBalancer deletes the Service, and its NodeBalancer goes.
func (e *environment) unbehindBalancer(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: string(e.namespace()), Name: "web"}}
	g.Expect(e.kube.Delete(t.Context(), service)).To(Succeed())
	g.Eventually(func(g Gomega) {
		var balancers struct{ Data []api.NodeBalancer }
		e.get(t, "/nodebalancers", &balancers)
		g.Expect(balancers.Data).To(BeEmpty(), "NodeBalancers")
	}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
}

// unaddressed: the class can be used, and its condition names what would fail the NodeBalancers.
func unaddressed(t *testing.T, e *environment) {
	e.apply(t, class("{privateIP: false}"))
	e.bootstrapReady(t, "default", metav1.ConditionTrue, v1alpha1.ReasonNoPrivateAddress)
	e.apply(t, class("{}"))
	e.bootstrapReady(t, "default", metav1.ConditionTrue, v1alpha1.ConditionBootstrapReady)
}

// refusedImage: a class of a public image, which has no kubeadm and cannot install it, is refused, and nothing is bought for its pods.
func (e *environment) refusedImage(t *testing.T, fields string) {
	t.Helper()
	since := e.now()
	e.apply(t, strings.Replace(class(specOf("image: linode/debian12", fields)), "{name: default}", "{name: "+withoutKubeadm+"}", 1))
	e.apply(t, nodePool("default", "", withoutKubeadm))
	e.apply(t, deployment("waiting", 1, ""))
	e.bootstrapReady(t, withoutKubeadm, metav1.ConditionFalse, v1alpha1.ReasonImageUnsuitable)
	ctx, g := t.Context(), NewWithT(t)
	for _, pod := range e.pods(ctx, g, "waiting") {
		e.event(t, "Pod", pod.Name, "FailedScheduling")
	}
	if left := e.remains(ctx); left != "" || since.made() != 0 {
		t.Errorf("%d Linodes were made, and there is %s", since.made(), left)
	}
}

func (e *environment) bootstrapReady(t *testing.T, class string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		found := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named(class)}, found)).To(Succeed())
		condition := found.StatusConditions().Get(v1alpha1.ConditionBootstrapReady)
		g.Expect(condition).NotTo(BeNil())
		g.Expect(condition.Status).To(Equal(status), condition.Message)
		g.Expect(condition.Reason).To(Equal(reason), condition.Message)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}
