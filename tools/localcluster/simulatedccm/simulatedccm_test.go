package simulatedccm

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// account is a simulated account behind real HTTP.
type account struct {
	*testing.T
	sim  *linodesim.Sim
	url  string
	kube kubernetes.Interface
}

func newAccount(t *testing.T) *account {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, violation := range sim.Violations() {
			t.Error(violation)
		}
	})
	return &account{t, sim, server.URL, fake.NewClientset()}
}

func (a *account) cloud(cfg Config) *cloud {
	cfg.APIURL, cfg.Token, cfg.Region = a.url, linodesim.DefaultToken, "us-ord"
	cfg.complete()
	return newCloud(cfg, a.kube)
}

func (a *account) linode(spec linodesim.InstanceSpec) int {
	a.Helper()
	spec.Type, spec.Image = "g6-standard-1", "linode/debian12"
	id, err := a.sim.AddInstance(spec)
	if err != nil {
		a.Fatal(err)
	}
	return id
}

// vpc makes a VPC with two subnets, and returns the IDs of all three.
func (a *account) vpc(label string) (subnets []int) {
	a.Helper()
	client := linodehttp.New(a.url, linodesim.DefaultToken, "test")
	var made struct{ Subnets []struct{ ID int } }
	body := map[string]any{"label": label, "region": "us-ord", "subnets": []any{
		map[string]string{"label": "default", "ipv4": "10.0.1.0/24"}, map[string]string{"label": "other", "ipv4": "10.0.2.0/24"}}}
	if err := client.Send(a.Context(), "POST", "/vpcs", "", body, &made); err != nil {
		a.Fatal(err)
	}
	return []int{made.Subnets[0].ID, made.Subnets[1].ID}
}

func nodeNamed(name string, providerID string, addresses ...corev1.NodeAddress) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{Addresses: addresses}}
}

func kinds(addresses []corev1.NodeAddress) string {
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("%s %.8s", a.Type, a.Address))
	}
	return strings.Join(all, ", ")
}

func TestALinodeIsFoundByIDThenByLabelThenByAddress(t *testing.T) {
	a := newAccount(t)
	id := a.linode(linodesim.InstanceSpec{Label: "one"})
	other := a.linode(linodesim.InstanceSpec{Label: "two"})
	public := a.sim.Snapshot().Instances[0].PublicIPv4
	c := a.cloud(Config{})
	external := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: public}
	for name, test := range map[string]struct {
		node *corev1.Node
		id   int
		err  error
	}{
		"by ID, whatever its name":          {nodeNamed("two", fmt.Sprintf("linode://%d", id)), id, nil},
		"an ID that is gone, not the label": {nodeNamed("two", "linode://1"), 0, cloudprovider.InstanceNotFound},
		"by label":                          {nodeNamed("two", ""), other, nil},
		"another provider's ID: by label":   {nodeNamed("two", "k3s://two"), other, nil},
		"by address":                        {nodeNamed("three", "", external), id, nil},
		"an address of no Linode": {nodeNamed("three", "", corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.9"}), 0,
			cloudprovider.InstanceNotFound},
	} {
		found, err := c.instances.find(t.Context(), test.node)
		if found.ID != test.id || !errors.Is(err, test.err) {
			t.Errorf("%s: found %d, %v; want %d, %v", name, found.ID, err, test.id, test.err)
		}
	}
	// A Node without an address has a separate error, so that Kubernetes' controller does not delete it.
	if exists, err := c.instances.InstanceExists(t.Context(), nodeNamed("three", "")); err == nil || exists {
		t.Errorf("a node without addresses exists: %t, %v", exists, err)
	}
	if exists, err := c.instances.InstanceExists(t.Context(), nodeNamed("gone", "linode://1")); err != nil || exists {
		t.Errorf("a node whose Linode is gone exists: %t, %v", exists, err)
	}
}

func TestAddressesOfANode(t *testing.T) {
	a := newAccount(t)
	subnets := a.vpc("net")
	a.linode(linodesim.InstanceSpec{Label: "public"})
	a.linode(linodesim.InstanceSpec{Label: "private", PrivateIP: true})
	a.linode(linodesim.InstanceSpec{Label: "vpc", SubnetID: subnets[0]})
	a.linode(linodesim.InstanceSpec{Label: "other", SubnetID: subnets[1]})
	kubelets := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.1.99"}
	for name, test := range map[string]struct {
		cfg  Config
		node *corev1.Node
		want string // "" = there is no such Linode for the manager
	}{
		"a public address alone":       {Config{}, nodeNamed("public", ""), "Hostname public, ExternalIP"},
		"a private address":            {Config{}, nodeNamed("private", ""), "InternalIP 192.168."},
		"in a VPC, not the manager's":  {Config{}, nodeNamed("vpc", ""), "Hostname vpc, ExternalIP"},
		"the kubelet's InternalIP":     {Config{}, nodeNamed("vpc", "", kubelets), "InternalIP 10.0.1.9"},
		"in the manager's VPC":         {Config{VPCNames: []string{"net"}}, nodeNamed("vpc", ""), "Hostname vpc, InternalIP 10.0.1."},
		"outside of the manager's VPC": {Config{VPCNames: []string{"net"}}, nodeNamed("private", "linode://1"), ""},
		"in another subnet of the VPC": {Config{VPCNames: []string{"net"}}, nodeNamed("other", "linode://1"), ""},
		"in a subnet that is named": {Config{VPCNames: []string{"net"}, SubnetNames: []string{"other"}}, nodeNamed("other", ""),
			"InternalIP 10.0.2."},
		"without a tag of the filter": {Config{TagFilter: "team"}, nodeNamed("private", "linode://1"), ""},
		"a VPC that does not exist":   {Config{VPCNames: []string{"missing"}}, nodeNamed("private", ""), "error"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.cloud(test.cfg).instances.InstanceMetadata(t.Context(), test.node)
			switch {
			case test.want == "error":
				if err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
					t.Errorf("found %+v, %v", got, err)
				}
			case test.want == "":
				if !errors.Is(err, cloudprovider.InstanceNotFound) {
					t.Errorf("found %+v, %v", got, err)
				}
			case err != nil || !strings.Contains(kinds(got.NodeAddresses), test.want):
				t.Errorf("%v: addresses %+v; want %q", err, got, test.want)
			}
		})
	}
}

func TestTheTagFilterIsAPartOfATag(t *testing.T) {
	a := newAccount(t)
	a.linode(linodesim.InstanceSpec{Label: "one", Tags: []string{"a-team=b"}})
	if _, err := a.cloud(Config{TagFilter: "team"}).instances.find(t.Context(), nodeNamed("one", "")); err != nil {
		t.Error(err)
	}
}

// A Linode that was made a moment ago is not found until the list is read again.
func TestTheListIsRememberedForItsTime(t *testing.T) {
	a := newAccount(t)
	a.linode(linodesim.InstanceSpec{Label: "one"})
	c := a.cloud(Config{CacheTTL: 200 * time.Millisecond})
	known, err := c.instances.all(t.Context())
	if err != nil || len(known) != 1 {
		t.Fatalf("%d Linodes, %v", len(known), err)
	}
	a.linode(linodesim.InstanceSpec{Label: "two"})
	if known, _ = c.instances.all(t.Context()); len(known) != 1 {
		t.Error("the list was read again before its time")
	}
	for deadline := time.Now().Add(time.Minute); len(known) != 2 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		known, _ = c.instances.all(t.Context())
	}
	if len(known) != 2 {
		t.Errorf("%d Linodes after the time", len(known))
	}
}

func serviceOn(ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: port, NodePort: 30000 + port})
	}
	return s
}

// nodesOf are Nodes as the manager has initialized them.
func (a *account) nodesOf(c *cloud, names ...string) []*corev1.Node {
	a.Helper()
	var all []*corev1.Node
	for _, name := range names {
		n := nodeNamed(name, "")
		found, err := c.instances.find(a.Context(), n)
		if err != nil {
			a.Fatal(err)
		}
		found.describe(n)
		n.Status.Addresses = found.addresses
		all = append(all, n)
	}
	return all
}

func (a *account) backends() (up, down int) {
	a.Helper()
	client := linodehttp.New(a.url, linodesim.DefaultToken, "test")
	balancers, err := linodehttp.List[api.NodeBalancer](a.Context(), client, "/nodebalancers", "")
	if err != nil || len(balancers) != 1 {
		a.Fatalf("%d NodeBalancers, %v", len(balancers), err)
	}
	configs, err := linodehttp.List[api.NodeBalancerConfig](a.Context(), client, fmt.Sprintf("/nodebalancers/%d/configs", balancers[0].ID), "")
	if err != nil {
		a.Fatal(err)
	}
	for _, c := range configs {
		up, down = up+c.NodesStatus.Up, down+c.NodesStatus.Down
	}
	return up, down
}

func TestANodeBalancerHasAllNodes(t *testing.T) {
	for name, inVPC := range map[string]bool{"with private addresses": false, "in a VPC": true} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			spec, cfg := linodesim.InstanceSpec{PrivateIP: true}, Config{}
			if inVPC {
				spec, cfg = linodesim.InstanceSpec{SubnetID: a.vpc("net")[0]}, Config{VPCNames: []string{"net"}}
			}
			for _, spec.Label = range []string{"one", "two", "three"} {
				a.linode(spec)
			}
			c := a.cloud(cfg)
			s := serviceOn(80, 443)
			status, err := c.balancers.EnsureLoadBalancer(t.Context(), "kubernetes", s, a.nodesOf(c, "one", "two"))
			if err != nil || status.Ingress[0].IP == "" {
				t.Fatalf("%+v, %v", status, err)
			}
			if up, down := a.backends(); up != 4 || down != 0 {
				t.Errorf("%d backends are up and %d down, want 2 for each of 2 ports", up, down)
			}
			s.Status.LoadBalancer = *status
			if _, err := a.kube.CoreV1().Services("default").Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.Spec.Ports = s.Spec.Ports[:1]
			if err := c.balancers.UpdateLoadBalancer(t.Context(), "kubernetes", s, a.nodesOf(c, "one", "two", "three")); err != nil {
				t.Fatal(err)
			}
			if up, down := a.backends(); up != 3 || down != 0 {
				t.Errorf("%d backends are up and %d down, want 3 of one port", up, down)
			}
			if err := c.balancers.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", s); err != nil {
				t.Error(err)
			}
			if _, exists, err := c.balancers.GetLoadBalancer(t.Context(), "kubernetes", s); exists || err != nil {
				t.Errorf("it exists after its deletion: %t, %v", exists, err)
			}
		})
	}
}

// One node without an address in the cluster fails the NodeBalancer with all its nodes.
func TestOneNodeWithoutInternalIPFailsTheNodeBalancer(t *testing.T) {
	a := newAccount(t)
	a.linode(linodesim.InstanceSpec{Label: "one", PrivateIP: true})
	a.linode(linodesim.InstanceSpec{Label: "public"})
	c := a.cloud(Config{})
	_, err := c.balancers.EnsureLoadBalancer(t.Context(), "kubernetes", serviceOn(80), a.nodesOf(c, "one", "public"))
	if err == nil || !strings.Contains(err.Error(), "no internal IP found for node public") {
		t.Errorf("the NodeBalancer is made: %v", err)
	}
	if _, err := c.balancers.EnsureLoadBalancer(t.Context(), "kubernetes", serviceOn(80), nil); !errors.Is(err, errNoNodes) {
		t.Errorf("without nodes: %v", err)
	}
}

func TestLabelsOfBackends(t *testing.T) {
	long := strings.Repeat("n", 40)
	got := []string{labelOf("a"), labelOf("abc"), labelOf(long)}
	if want := []string{"node-a", "abc", long[:32]}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
