package demo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// assets has the account's NodeBalancers, the backends of all their ports, and the volumes.
type assets struct {
	balancers []api.NodeBalancer
	backends  []api.NodeBalancerNode
	volumes   []api.Volume
}

// readAssets reads the assets. It takes two requests if there is no NodeBalancer.
func readAssets(ctx context.Context, linode *linodehttp.Client) (a assets, err error) {
	if a.volumes, err = linodehttp.List[api.Volume](ctx, linode, "/volumes", ""); err != nil {
		return a, err
	}
	if a.balancers, err = linodehttp.List[api.NodeBalancer](ctx, linode, "/nodebalancers", ""); err != nil {
		return a, err
	}
	for _, balancer := range a.balancers {
		path := fmt.Sprintf("/nodebalancers/%d/configs", balancer.ID)
		ports, err := linodehttp.List[api.NodeBalancerConfig](ctx, linode, path, "")
		if err != nil {
			return a, err
		}
		for _, port := range ports {
			backends, err := linodehttp.List[api.NodeBalancerNode](ctx, linode, fmt.Sprintf("%s/%d/nodes", path, port.ID), "")
			if err != nil {
				return a, err
			}
			a.backends = append(a.backends, backends...)
		}
	}
	return a, nil
}

// healthy counts nodes and backends. up is the number of nodes whose backend is up. all is the number of nodes plus the number of backends
// that belong to no node. Example: of 3 nodes, 2 have a backend that is up, and a backend of a deleted node remains: up is 2, all is 4.
func (a assets) healthy(nodes []corev1.Node) (up, all int) {
	backends := map[string]api.NodeBalancerNodeStatus{}
	for _, b := range a.backends {
		host, _, _ := strings.Cut(b.Address, ":")
		backends[host] = b.Status
	}
	for _, node := range nodes {
		address := internalIP(node)
		if backends[address] == api.NodeBalancerNodeStatusUP {
			up++
		}
		delete(backends, address)
	}
	return up, len(nodes) + len(backends)
}

func internalIP(node corev1.Node) string {
	at := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	if at < 0 {
		return ""
	}
	return node.Status.Addresses[at].Address
}

// attached counts the volumes that are attached to the Linode of the pod that uses them. used maps handles of volumes to provider IDs.
func (a assets) attached(used map[string]string) (n int) {
	for handle, providerID := range used {
		id, _, _ := strings.Cut(handle, "-") // a handle is the volume's ID and its label
		n += len(slices.DeleteFunc(slices.Clone(a.volumes), func(v api.Volume) bool {
			return strconv.Itoa(v.ID) != id || v.LinodeID == nil || providerPrefix+strconv.Itoa(*v.LinodeID) != providerID
		}))
	}
	return n
}

const providerPrefix = "linode://"
