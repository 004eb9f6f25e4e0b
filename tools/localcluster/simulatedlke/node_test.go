package simulatedlke_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// The first two rows have recorded values of real LKE nodes.
func TestCapacity(t *testing.T) {
	cases := map[string]struct {
		machine               simulatedlke.Machine
		capacity, allocatable corev1.ResourceList
	}{
		"g6-standard-1": {
			simulatedlke.Machine{VCPUs: 1, MemoryMB: 2048, DiskMB: 51200},
			list("cpu", "1", "memory", "2027296Ki", "ephemeral-storage", "51524172Ki", "pods", "110"),
			list("cpu", "1", "memory", "1924896Ki", "pods", "110"),
		},
		"g6-standard-2": {
			simulatedlke.Machine{VCPUs: 2, MemoryMB: 4096, DiskMB: 81920},
			list("cpu", "2", "memory", "4022024Ki", "ephemeral-storage", "82470344Ki", "pods", "110"),
			list("cpu", "2", "memory", "3919624Ki", "pods", "110"),
		},
		"g6-standard-4: the fixed part and 1/64 are missing": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 8192, DiskMB: 163840},
			list("cpu", "4", "memory", "8150792Ki", "ephemeral-storage", "164993469Ki"), list("memory", "8048392Ki"),
		},
		"g6-standard-4, leaner": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 8192, DiskMB: 163840, Memory: simulatedlke.MemoryLeaner},
			list("cpu", "4", "memory", "8011480Ki", "ephemeral-storage", "164993469Ki"), list("memory", "7909080Ki"),
		},
		"Enterprise, about 6 GiB of 8": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 8192, DiskMB: 163840, Tier: linodesim.Enterprise},
			list("memory", "8150792Ki"), list("memory", "6160956Ki"),
		},
		"Enterprise by pod": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 8192, DiskMB: 163840, Tier: linodesim.Enterprise, Memory: simulatedlke.MemoryByPod},
			list("memory", "8150792Ki"), list("memory", "6548232Ki"),
		},
		"Enterprise by share, 4 GiB": {
			simulatedlke.Machine{VCPUs: 2, MemoryMB: 4096, DiskMB: 81920, Tier: linodesim.Enterprise, Memory: simulatedlke.MemoryByShare},
			list("memory", "4022024Ki"), list("memory", "2871048Ki"),
		},
		"Enterprise, 4 GiB": {
			simulatedlke.Machine{VCPUs: 2, MemoryMB: 4096, DiskMB: 81920, Tier: linodesim.Enterprise},
			list("memory", "4022024Ki"), list("memory", "2419464Ki"),
		},
		"a GPU plan": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 16384, DiskMB: 512000, GPUs: 2},
			list("nvidia.com/gpu", "2"), list("nvidia.com/gpu", "2"),
		},
		"a GPU plan whose GPUs are shared": {
			simulatedlke.Machine{VCPUs: 4, MemoryMB: 16384, DiskMB: 512000, GPUs: 2, Shares: 4},
			list("nvidia.com/gpu.shared", "8"), list("nvidia.com/gpu.shared", "8"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			capacity, allocatable := simulatedlke.Capacity(c.machine)
			compare(t, "capacity", capacity, c.capacity)
			compare(t, "allocatable", allocatable, c.allocatable)
			for resourceName, most := range capacity {
				if can := allocatable[resourceName]; can.Cmp(most) > 0 {
					t.Errorf("%s: allocatable %s of %s", resourceName, &can, &most)
				}
			}
			if _, reported := capacity["nvidia.com/gpu"]; reported != (c.machine.GPUs > 0 && c.machine.Shares == 0) {
				t.Errorf("GPUs reported: %v", reported)
			}
		})
	}
}

func compare(t *testing.T, what string, got, want corev1.ResourceList) {
	t.Helper()
	for name, quantity := range want {
		if have, found := got[name]; !found || have.Cmp(quantity) != 0 {
			t.Errorf("%s %s is %s, want %s", what, name, &have, &quantity)
		}
	}
}

// joined is an event as the simulator sends it for a node of a labelled and
// tainted pool.
func joined() linodesim.Event {
	return linodesim.Event{
		Kind: linodesim.NodeJoins, Cluster: linodesim.EventCluster{ID: 584692, Tier: "standard"},
		NodeID: "855491-1bc1c89c0000", Name: "lke584692-855491-1bc1c89c0000",
		EventPool: linodesim.EventPool{
			PoolID: 855491, K8sVersion: "1.35",
			Labels: map[string]string{"team": "a"}, Taints: []linodesim.Taint{{Key: "only", Value: "a", Effect: "NoSchedule"}},
		},
		EventLinode: linodesim.EventLinode{
			InstanceID: 94907123, HostUUID: "abc", Region: "us-ord",
			PublicIPv4: "198.51.100.7", PrivateIPv4: "192.168.128.7", IPv6: "2001:db8::7/128",
		},
		EventPlan: linodesim.EventPlan{Type: "g6-standard-2", VCPUs: 2, MemoryMB: 4096, DiskMB: 81920},
	}
}

func TestRegistered(t *testing.T) {
	node := simulatedlke.Registered(joined(), map[string]string{"kubelet": "simulated"})
	wantLabels := map[string]string{
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
		"kubernetes.io/hostname": "lke584692-855491-1bc1c89c0000", "lke.linode.com/pool-id": "855491", "team": "a", "kubelet": "simulated",
	}
	if node.Name != "lke584692-855491-1bc1c89c0000" || !maps.Equal(node.Labels, wantLabels) {
		t.Errorf("name %s, labels %v", node.Name, node.Labels)
	}
	if node.Spec.ProviderID != "" {
		t.Error("a kubelet does not know its provider ID")
	}
	wantTaints(t, node,
		corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"},
		corev1.Taint{Key: "only", Value: "a", Effect: "NoSchedule"})
	if c := nodeutils.GetCondition(node, corev1.NodeReady); c.Status != corev1.ConditionFalse {
		t.Errorf("ready: %+v", c)
	}
	want := []corev1.NodeAddress{
		{Type: "Hostname", Address: node.Name}, {Type: "ExternalIP", Address: "198.51.100.7"},
		{Type: "ExternalIP", Address: "2001:db8::7"}, {Type: "InternalIP", Address: "192.168.128.7"},
	}
	if !equality.Semantic.DeepEqual(node.Status.Addresses, want) {
		t.Errorf("addresses %v", node.Status.Addresses)
	}
}

func TestANodeNamesWhoServesItsLogs(t *testing.T) {
	node := simulatedlke.Registered(joined(), nil)
	before := node.DeepCopy()
	if simulatedlke.ServedBy(node, 0); !equality.Semantic.DeepEqual(node, before) {
		t.Errorf("without a server: %+v", node.Status)
	}
	simulatedlke.ServedBy(node, 10250)
	want := append(before.Status.Addresses, corev1.NodeAddress{Type: "InternalDNS", Address: "localhost"})
	if node.Status.DaemonEndpoints.KubeletEndpoint.Port != 10250 || !equality.Semantic.DeepEqual(node.Status.Addresses, want) {
		t.Errorf("port %d, addresses %v", node.Status.DaemonEndpoints.KubeletEndpoint.Port, node.Status.Addresses)
	}
}

func TestKubeletVersion(t *testing.T) {
	for lke, want := range map[string]string{"1.35": "v1.35.0", "v1.33.6+lke7": "v1.33.6"} {
		event := joined()
		event.K8sVersion = lke
		if got := simulatedlke.Registered(event, nil).Status.NodeInfo.KubeletVersion; got != want {
			t.Errorf("%s gives %s, want %s", lke, got, want)
		}
	}
}

func TestInitialize(t *testing.T) {
	node := simulatedlke.Registered(joined(), nil)
	simulatedlke.Initialize(node, joined())
	if node.Spec.ProviderID != "linode://94907123" {
		t.Errorf("provider ID %q", node.Spec.ProviderID)
	}
	wantTaints(t, node, corev1.Taint{Key: "only", Value: "a", Effect: "NoSchedule"})
	for key, want := range map[string]string{
		"node.kubernetes.io/instance-type": "g6-standard-2", "topology.kubernetes.io/region": "us-ord",
		"topology.linode.com/region": "us-ord", "node.k8s.linode.com/host-uuid": "abc",
	} {
		if node.Labels[key] != want {
			t.Errorf("label %s is %q", key, node.Labels[key])
		}
	}
	if zone, found := node.Labels["topology.kubernetes.io/zone"]; found {
		t.Errorf("zone %q: LKE sets none", zone)
	}
}

func wantTaints(t *testing.T, node *corev1.Node, want ...corev1.Taint) {
	t.Helper()
	if !equality.Semantic.DeepEqual(node.Spec.Taints, want) {
		t.Errorf("taints %v, want %v", node.Spec.Taints, want)
	}
}

func TestFollowAndReapply(t *testing.T) {
	own := corev1.Taint{Key: "mine", Effect: "NoExecute"}
	pool := corev1.Taint{Key: "only", Value: "a", Effect: "NoSchedule"}
	cases := map[string]struct {
		change         func(*linodesim.Event)
		labels         map[string]string // of team, mine, new
		taints         []corev1.Taint
		reappliesTaint bool
	}{
		"nothing changed: a removed taint stays away": {
			func(*linodesim.Event) {}, map[string]string{"team": "edited", "mine": "yes"}, []corev1.Taint{own}, true,
		},
		"label changed": {
			func(e *linodesim.Event) { e.Labels = map[string]string{"team": "b"} },
			map[string]string{"team": "b", "mine": "yes"}, []corev1.Taint{own}, true,
		},
		"label removed, another added": {
			func(e *linodesim.Event) { e.Labels = map[string]string{"new": "x"} },
			map[string]string{"mine": "yes", "new": "x"}, []corev1.Taint{own}, true,
		},
		"taint added": {
			func(e *linodesim.Event) {
				e.Taints = append(e.Taints, linodesim.Taint{Key: "more", Effect: "NoSchedule"})
			},
			map[string]string{"team": "edited", "mine": "yes"}, []corev1.Taint{own, {Key: "more", Effect: "NoSchedule"}}, true,
		},
		"taints removed": {
			func(e *linodesim.Event) { e.Taints = nil },
			map[string]string{"team": "edited", "mine": "yes"}, []corev1.Taint{own}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// A user has edited the node: another label value, a label and a
			// taint of their own, the pool's taint removed.
			node := simulatedlke.Registered(joined(), nil)
			node.Labels["team"], node.Labels["mine"] = "edited", "yes"
			node.Spec.Taints = []corev1.Taint{own}
			now := joined()
			c.change(&now)

			simulatedlke.Follow(node, joined(), now)
			for _, key := range []string{"team", "mine", "new"} {
				if node.Labels[key] != c.labels[key] {
					t.Errorf("label %s is %q, want %q", key, node.Labels[key], c.labels[key])
				}
			}
			wantTaints(t, node, c.taints...)

			simulatedlke.Reapply(node, now)
			again := false
			for _, taint := range node.Spec.Taints {
				again = again || taint == pool
			}
			if again != c.reappliesTaint {
				t.Errorf("after reapplying: %v", node.Spec.Taints)
			}
		})
	}
}
