package demo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// The account is read over HTTP: a running node is a healthy backend, and a volume counts if it is on the node of its pod.
func TestAssetsOfTheAccount(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	defer server.Close()
	linode := linodehttp.New(server.URL, linodesim.DefaultToken, "test")
	if a := read(t, linode); len(a.balancers)+len(a.backends)+len(a.volumes) != 0 {
		t.Errorf("an empty account has %+v", a)
	}
	running, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Image: "linode/debian12", PrivateIP: true})
	if err != nil {
		t.Fatal(err)
	}
	off, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", PrivateIP: true})
	if err != nil {
		t.Fatal(err)
	}
	nodes := []corev1.Node{nodeOf(t, linode, running), nodeOf(t, linode, off)}

	var balancer, port, volume struct{ ID int }
	send(t, linode, "/nodebalancers", map[string]any{"region": "us-ord", "label": "ccm-1"}, &balancer)
	send(t, linode, fmt.Sprintf("/nodebalancers/%d/configs", balancer.ID), map[string]any{"port": 80}, &port)
	for i, node := range nodes {
		send(t, linode, fmt.Sprintf("/nodebalancers/%d/configs/%d/nodes", balancer.ID, port.ID),
			map[string]any{"label": "backend-" + strconv.Itoa(i), "address": internalIP(node) + ":30080"}, nil)
	}
	send(t, linode, "/volumes", map[string]any{"label": "data", "size": 10, "linode_id": running}, &volume)

	a := read(t, linode)
	if up, all := a.healthy(nodes); up != 1 || all != 2 {
		t.Errorf("%d of %d backends are up, want 1 of 2: one Linode is off", up, all)
	}
	if up, all := a.healthy(nodes[:1]); up != 1 || all != 2 {
		t.Errorf("%d of %d backends are up, want 1 of 2: one has no node", up, all)
	}
	if up, all := a.healthy(append(nodes[:1:1], corev1.Node{})); up != 1 || all != 3 {
		t.Errorf("%d of %d backends are up, want 1 of 3: a node has no address, a backend no node", up, all)
	}
	handle := strconv.Itoa(volume.ID) + "-data"
	for name, c := range map[string]struct {
		used map[string]string
		want int
	}{
		"where its pod runs": {map[string]string{handle: nodes[0].Spec.ProviderID}, 1},
		"elsewhere":          {map[string]string{handle: nodes[1].Spec.ProviderID}, 0},
		"of no pod":          {nil, 0},
		"another volume":     {map[string]string{"1-other": nodes[0].Spec.ProviderID}, 0},
	} {
		if got := a.attached(c.used); got != c.want {
			t.Errorf("%s: %d volumes are attached, want %d", name, got, c.want)
		}
	}
}

func read(t *testing.T, linode *linodehttp.Client) assets {
	t.Helper()
	a, err := readAssets(t.Context(), linode)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func send(t *testing.T, linode *linodehttp.Client, path string, in, out any) {
	t.Helper()
	if err := linode.Send(t.Context(), http.MethodPost, path, "", in, out); err != nil {
		t.Fatal(err)
	}
}

// nodeOf is the Node of a Linode with its private address.
func nodeOf(t *testing.T, linode *linodehttp.Client, id int) corev1.Node {
	t.Helper()
	var instance api.Instance
	if err := linode.Send(t.Context(), http.MethodGet, "/linode/instances/"+strconv.Itoa(id), "", nil, &instance); err != nil {
		t.Fatal(err)
	}
	node := corev1.Node{Spec: corev1.NodeSpec{ProviderID: providerPrefix + strconv.Itoa(id)}}
	for _, address := range instance.IPv4 {
		kind := corev1.NodeExternalIP
		if strings.HasPrefix(address, "192.168.") {
			kind = corev1.NodeInternalIP
		}
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
	}
	return node
}

func TestWhatIsMissingBesideTheNodes(t *testing.T) {
	for name, c := range map[string]struct {
		b    beside
		want string
	}{
		"all there":            {beside{up: 3, backends: 3, attached: 1, volumes: 1, balancers: 1}, ""},
		"a backend is down":    {beside{up: 2, backends: 3, attached: 1, volumes: 1, balancers: 1}, "2 of 3 backends are up"},
		"no NodeBalancer":      {beside{attached: 1, volumes: 1}, "0 NodeBalancers"},
		"two NodeBalancers":    {beside{up: 3, backends: 3, attached: 1, volumes: 1, balancers: 2}, "2 NodeBalancers"},
		"no volume":            {beside{up: 3, backends: 3, balancers: 1}, "0 of 0 volumes"},
		"a volume elsewhere":   {beside{up: 3, backends: 3, volumes: 1, balancers: 1}, "0 of 1 volumes"},
		"a volume that stayed": {beside{up: 3, backends: 3, attached: 1, volumes: 2, balancers: 1}, "1 of 2 volumes"},
	} {
		missing := strings.Join(c.b.missing(), "; ")
		if c.want == "" && missing != "" || !strings.Contains(missing, c.want) {
			t.Errorf("%s: missing is %q, want %q", name, missing, c.want)
		}
	}
}
