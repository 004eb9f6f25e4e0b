package e2e_test

import (
	"fmt"
	"net"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// A Service of type LoadBalancer beside the cloud controller manager: its NodeBalancer has every node of the cluster as a backend that
// answers, while nodes come and go.

func TestInstanceLoadBalancer(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-balancer", "standard", soonCollected(), plainLinodes(3))
	e.scenario(t, "nodes with private addresses come and go behind a NodeBalancer", behindBalancer("", "192.168.0.0/16"))
	e.scenario(t, "a class without an address in the cluster is named", unaddressed)
}

// The manager has a VPC and a filter by tag here: it finds nothing else.
func TestInstanceLoadBalancerVPC(t *testing.T) {
	t.Parallel()
	values := map[string]any{"settings": map[string]any{"instance": map[string]any{"tags": []any{"cluster=prod"}}}}
	e := start(t, "plain-lb-vpc", "standard", values, plainLinodes(3), func(o *localcluster.Options) {
		o.CloudController = localcluster.CloudController{VPC: "prod-net", TagFilter: "cluster=prod"}
	})
	inVPC := fmt.Sprintf("{vpcID: %d, subnetID: %d}", e.VPCID, e.SubnetID)
	e.scenario(t, "nodes in the manager's VPC come and go behind a NodeBalancer", behindBalancer(inVPC, "10.0.0.0/16"))
	e.scenario(t, "a class outside of the manager's VPC is not ready", func(t *testing.T, e *environment) {
		e.apply(t, class("{}"))
		e.bootstrapReady(t, metav1.ConditionFalse, v1alpha1.ReasonVPCMismatch)
	})
}

// behindBalancer follows a Service through a scale-up, a deleted node and a scale-down.
func behindBalancer(class, network string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "web"
		e.nodePool(t, nodePoolSpec{class: class})
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

		ctx, g := t.Context(), NewWithT(t)
		gone := e.karpenterNodes(ctx, g)[0]
		g.Expect(e.kube.Delete(ctx, &gone)).To(Succeed())
		e.settled(t, app, 3)
		e.allBackends(t, 3, network)

		e.setReplicas(t, &appsv1.Deployment{}, app, 1)
		e.matched(t, 1)
		e.allBackends(t, 1, network)
		e.unbehindBalancer(t)
	}
}

// allBackends waits until the NodeBalancer's backends are exactly the cluster's nodes, all healthy, by addresses in the network.
func (e *environment) allBackends(t *testing.T, karpenters int, network string) {
	t.Helper()
	_, within, err := net.ParseCIDR(network)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		nodes := &corev1.NodeList{}
		g.Expect(e.kube.List(ctx, nodes)).To(Succeed())
		g.Expect(e.karpenterNodes(ctx, g)).To(HaveLen(karpenters))
		var want []string
		for _, node := range nodes.Items {
			want = append(want, internalIP(node))
		}
		var got []string
		for _, b := range e.backends(t, g) {
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

// backends are those of the only port of the only NodeBalancer.
func (e *environment) backends(t *testing.T, g Gomega) []api.NodeBalancerNode {
	var balancers struct{ Data []api.NodeBalancer }
	e.get(t, "/nodebalancers", &balancers)
	g.Expect(balancers.Data).To(HaveLen(1), "NodeBalancers")
	var configs struct{ Data []api.NodeBalancerConfig }
	e.get(t, fmt.Sprintf("/nodebalancers/%d/configs", balancers.Data[0].ID), &configs)
	g.Expect(configs.Data).To(HaveLen(1), "ports")
	var nodes struct{ Data []api.NodeBalancerNode }
	e.get(t, fmt.Sprintf("/nodebalancers/%d/configs/%d/nodes?page_size=500", balancers.Data[0].ID, configs.Data[0].ID), &nodes)
	return nodes.Data
}

// unbalanced deletes the Service, and its NodeBalancer goes.
func (e *environment) unbehindBalancer(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
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
	e.bootstrapReady(t, metav1.ConditionTrue, v1alpha1.ReasonNoPrivateAddress)
	e.apply(t, class("{}"))
	e.bootstrapReady(t, metav1.ConditionTrue, v1alpha1.ConditionBootstrapReady)
}

func (e *environment) bootstrapReady(t *testing.T, status metav1.ConditionStatus, reason string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		found := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "default"}, found)).To(Succeed())
		condition := found.StatusConditions().Get(v1alpha1.ConditionBootstrapReady)
		g.Expect(condition).NotTo(BeNil())
		g.Expect(condition.Status).To(Equal(status), condition.Message)
		g.Expect(condition.Reason).To(Equal(reason), condition.Message)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}
