package simulatedccm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

const (
	labelPrefix   = "ccm"
	labelDigits   = 12 // of the time, in hexadecimal digits
	labelLength   = 32
	labelShortest = 3
	nodeWeight    = 100
)

// balancers makes NodeBalancers (cloud/linode/loadbalancers.go).
type balancers struct {
	api  *linodehttp.Client
	kube kubernetes.Interface
	cfg  Config
	mu   sync.Mutex // guards vpcs
	vpcs networks
}

var _ cloudprovider.LoadBalancer = (*balancers)(nil)

var (
	errNoNodes  = errors.New("no nodes available for nodebalancer")
	errNotFound = errors.New("LB not found for service")
)

// find returns the NodeBalancer with the address in the Service's status, which it reads from the API server.
func (b *balancers) find(ctx context.Context, service *corev1.Service) (api.NodeBalancer, error) {
	status := service.Status.LoadBalancer
	if latest, err := b.kube.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{}); err == nil {
		status = latest.Status.LoadBalancer
	}
	for _, ingress := range status.Ingress {
		if ingress.IP == "" {
			continue
		}
		filter, err := json.Marshal(map[string]string{"ipv4": ingress.IP})
		if err != nil {
			return api.NodeBalancer{}, err
		}
		found, err := linodehttp.List[api.NodeBalancer](ctx, b.api, "/nodebalancers", string(filter))
		if err == nil && len(found) == 0 {
			err = errNotFound
		}
		if err != nil {
			return api.NodeBalancer{}, err
		}
		return found[0], nil
	}
	return api.NodeBalancer{}, errNotFound
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer. Each call returns another name.
func (b *balancers) GetLoadBalancerName(context.Context, string, *corev1.Service) string {
	now := strconv.FormatInt(time.Now().UnixNano(), 16)
	return labelPrefix + "-" + now[len(now)-labelDigits:]
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) GetLoadBalancer(ctx context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	found, err := b.find(ctx, service)
	if errors.Is(err, errNotFound) {
		return nil, false, nil
	}
	return statusOf(found), err == nil, err
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (
	*corev1.LoadBalancerStatus, error) {
	found, err := b.find(ctx, service)
	switch {
	case errors.Is(err, errNotFound):
		found, err = b.create(ctx, cluster, service, nodes)
	case err == nil:
		err = b.update(ctx, service, nodes, found)
	}
	return statusOf(found), err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service, nodes []*corev1.Node) error {
	found, err := b.find(ctx, service)
	if err != nil {
		return err
	}
	return b.update(ctx, service, nodes, found)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	found, err := b.find(ctx, service)
	if errors.Is(err, errNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.api.Send(ctx, http.MethodDelete, fmt.Sprintf("/nodebalancers/%d", found.ID), "", nil, nil)
}

func statusOf(b api.NodeBalancer) *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: ptr.Deref(b.Hostname, ""), IP: ptr.Deref(b.IPv4, "")}}}
}

func (b *balancers) create(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (api.NodeBalancer, error) {
	var made api.NodeBalancer
	if len(nodes) == 0 {
		return made, fmt.Errorf("%w: cluster %s, service %s/%s", errNoNodes, cluster, service.Namespace, service.Name)
	}
	subnet, err := b.subnet(ctx)
	if err != nil {
		return made, err
	}
	configs := make([]api.NodeBalancerConfigCreate, 0, len(service.Spec.Ports))
	for _, port := range service.Spec.Ports {
		backends, err := backendsOf(nodes, port.NodePort, subnet)
		if err != nil {
			return made, err
		}
		config := configOf(port)
		config.Nodes = &backends
		configs = append(configs, config)
	}
	request := api.NodeBalancerCreate{
		Label: new(b.GetLoadBalancerName(ctx, cluster, service)), Region: b.cfg.Region, Configs: &configs, ClientConnThrottle: new(0),
		Tags: &[]string{cluster},
	}
	if subnet != 0 {
		request.Vpcs = &[]api.NodeBalancerVPC{{SubnetID: subnet}}
	}
	err = b.api.Send(ctx, http.MethodPost, "/nodebalancers", "", request, &made)
	return made, err
}

// update makes the NodeBalancer's configs match the Service's ports, each with all nodes.
func (b *balancers) update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node, balancer api.NodeBalancer) error {
	if len(nodes) == 0 {
		return fmt.Errorf("%w: service %s/%s", errNoNodes, service.Namespace, service.Name)
	}
	path := fmt.Sprintf("/nodebalancers/%d/configs", balancer.ID)
	configs, err := linodehttp.List[api.NodeBalancerConfig](ctx, b.api, path, "")
	if err != nil {
		return err
	}
	for _, config := range configs {
		if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == config.Port }) {
			if err := b.api.Send(ctx, http.MethodDelete, fmt.Sprintf("%s/%d", path, config.ID), "", nil, nil); err != nil {
				return err
			}
		}
	}
	subnet, err := b.subnet(ctx)
	if err != nil {
		return err
	}
	for _, port := range service.Spec.Ports {
		if err := b.rebuild(ctx, path, configs, port, nodes, subnet); err != nil {
			return fmt.Errorf("[port %d] %w", port.Port, err)
		}
	}
	return nil
}

// rebuild replaces the config of a port. Backends that the config has already keep their IDs, so that their connections stay.
func (b *balancers) rebuild(ctx context.Context, path string, configs []api.NodeBalancerConfig, port corev1.ServicePort,
	nodes []*corev1.Node, subnet int) error {
	backends, err := backendsOf(nodes, port.NodePort, subnet)
	if err != nil {
		return fmt.Errorf("error building NodeBalancer backend node configs: %w", err)
	}
	known := map[string]int{}
	var id int
	if at := slices.IndexFunc(configs, func(c api.NodeBalancerConfig) bool { return c.Port == int(port.Port) }); at >= 0 {
		id = configs[at].ID
		has, err := linodehttp.List[api.NodeBalancerNode](ctx, b.api, fmt.Sprintf("%s/%d/nodes", path, id), "")
		if err != nil {
			return err
		}
		for _, node := range has {
			known[node.Address] = node.ID
		}
	} else {
		var made api.NodeBalancerConfig
		if err := b.api.Send(ctx, http.MethodPost, path, "", configOf(port), &made); err != nil {
			return err
		}
		id = made.ID
	}
	request := rebuilding(configOf(port))
	for _, backend := range backends {
		node := api.NodeBalancerNodeRebuild{Address: backend.Address, Label: backend.Label, Weight: backend.Weight, SubnetID: backend.SubnetID,
			Mode: new(api.NodeBalancerNodeRebuildMode(*backend.Mode))}
		if id, ok := known[backend.Address]; ok {
			node.ID = &id
		}
		request.Nodes = append(request.Nodes, node)
	}
	return b.api.Send(ctx, http.MethodPost, fmt.Sprintf("%s/%d/rebuild", path, id), "", request, nil)
}

// configOf returns the config of a port with the manager's own values, which differ from the API's defaults: for example, a check of the
// connection every 5 s.
func configOf(port corev1.ServicePort) api.NodeBalancerConfigCreate {
	return api.NodeBalancerConfigCreate{
		Port: new(int(port.Port)), Protocol: new(api.NodeBalancerConfigCreateProtocol("tcp")),
		ProxyProtocol: new(api.NodeBalancerConfigCreateProxyProtocol("none")), Check: new(api.NodeBalancerConfigCreateCheck("connection")),
		Algorithm: new(api.NodeBalancerConfigCreateAlgorithm("roundrobin")), CheckInterval: new(5), CheckTimeout: new(3),
		CheckAttempts: new(2), CheckPassive: new(true),
	}
}

func rebuilding(c api.NodeBalancerConfigCreate) api.NodeBalancerConfigRebuild {
	return api.NodeBalancerConfigRebuild{
		Port: c.Port, Protocol: new(api.NodeBalancerConfigRebuildProtocol(*c.Protocol)),
		ProxyProtocol: new(api.NodeBalancerConfigRebuildProxyProtocol(*c.ProxyProtocol)),
		Check:         new(api.NodeBalancerConfigRebuildCheck(*c.Check)),
		Algorithm:     new(api.NodeBalancerConfigRebuildAlgorithm(*c.Algorithm)), CheckInterval: c.CheckInterval, CheckTimeout: c.CheckTimeout,
		CheckAttempts: c.CheckAttempts, CheckPassive: c.CheckPassive,
	}
}

// backendsOf returns the backends of all nodes, or an error if a node has no address for a backend.
func backendsOf(nodes []*corev1.Node, port int32, subnet int) ([]api.NodeBalancerNodeCreate, error) {
	all := make([]api.NodeBalancerNodeCreate, 0, len(nodes))
	for _, node := range nodes {
		address, err := backendAddress(node, subnet)
		if err != nil {
			return nil, fmt.Errorf("failed to build NodeBalancer node config options for node %s: %w", node.Name, err)
		}
		backend := api.NodeBalancerNodeCreate{
			Address: net.JoinHostPort(address, strconv.Itoa(int(port))), Label: labelOf(node.Name), Weight: new(nodeWeight),
			Mode: new(api.NodeBalancerNodeCreateMode("accept")),
		}
		if subnet != 0 {
			backend.SubnetID = &subnet
		}
		all = append(all, backend)
	}
	return all, nil
}

func backendAddress(node *corev1.Node, subnet int) (string, error) {
	if address, ok := node.Annotations[privateIPNote]; ok && subnet == 0 {
		return address, nil
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address, nil
		}
	}
	return "", fmt.Errorf("no internal IP found for node %s", node.Name)
}

func labelOf(name string) string {
	for len(name) < labelShortest {
		name = "node-" + name
	}
	return name[:min(len(name), labelLength)]
}

// subnet is the first subnet of the first VPC in the manager's flags, 0 without a VPC.
func (b *balancers) subnet(ctx context.Context) (int, error) {
	if len(b.cfg.VPCNames) == 0 {
		return 0, nil
	}
	b.mu.Lock() // the manager, too, looks labels up one at a time
	defer b.mu.Unlock()
	vpc, err := b.vpcs.vpc(ctx, b.api, b.cfg.VPCNames[0])
	if err != nil {
		return 0, err
	}
	return b.vpcs.subnet(ctx, b.api, vpc, b.cfg.SubnetNames[0])
}
