package simulatedccm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

const providerPrefix = "linode://"

// linodeOf is a Linode with its addresses in the order in which a Node has them.
type linodeOf struct {
	api.Instance
	addresses []corev1.NodeAddress
}

// private returns the Linode's first private address, "" if it has no private address.
func (l linodeOf) private() string {
	for _, a := range l.IPv4 {
		if isPrivate(a) {
			return a
		}
	}
	return ""
}

func isPrivate(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.IsPrivate()
}

// instances is the list of the Linodes that exist for the manager.
type instances struct {
	api   *linodehttp.Client
	cfg   Config
	mu    sync.Mutex
	read  time.Time
	known map[int]linodeOf
	vpcs  networks
}

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// all returns the list. It reads the list again if the list is older than CacheTTL. As in the real manager, the lock allows one reading at
// a time.
func (s *instances) all(ctx context.Context) (map[int]linodeOf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < s.cfg.CacheTTL {
		return s.known, nil
	}
	filter := ""
	if s.cfg.TagFilter != "" {
		text, err := json.Marshal(map[string]any{"tags": map[string]string{"+contains": s.cfg.TagFilter}})
		if err != nil {
			return nil, err
		}
		filter = string(text)
	}
	listed, err := linodehttp.List[api.Instance](ctx, s.api, "/linode/instances", filter)
	if err != nil {
		return nil, err
	}
	inVPC := map[int][]string{}
	for _, name := range s.cfg.VPCNames {
		if err := s.addressesIn(ctx, name, inVPC); err != nil {
			return nil, fmt.Errorf("failed updating instances cache for VPC %s: %w", name, err)
		}
	}
	known := map[int]linodeOf{}
	for _, instance := range listed {
		if len(s.cfg.VPCNames) > 0 && len(inVPC[instance.ID]) == 0 {
			continue
		}
		known[instance.ID] = linodeOf{instance, addresses(instance, inVPC[instance.ID])}
	}
	s.known, s.read = known, time.Now()
	return known, nil
}

// addressesIn adds the IPv4 addresses in a VPC to the map, by the ID of the Linode.
func (s *instances) addressesIn(ctx context.Context, name string, by map[int][]string) error {
	id, subnets, err := s.vpcs.ids(ctx, s.api, name, s.cfg.SubnetNames)
	if err != nil {
		return err
	}
	filter, err := json.Marshal(map[string]string{"subnet_id": strings.Join(subnets, ",")})
	if err != nil {
		return err
	}
	listed, err := linodehttp.List[api.VPCAddress](ctx, s.api, fmt.Sprintf("/vpcs/%d/ips", id), string(filter))
	if err != nil {
		return err
	}
	for _, a := range listed {
		if a.Address != nil && a.LinodeID != nil {
			by[*a.LinodeID] = append(by[*a.LinodeID], *a.Address)
		}
	}
	return nil
}

func addresses(instance api.Instance, inVPC []string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, a := range inVPC {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	for _, a := range instance.IPv4 {
		kind := corev1.NodeExternalIP
		if isPrivate(a) {
			kind = corev1.NodeInternalIP
		}
		all = append(all, corev1.NodeAddress{Type: kind, Address: a})
	}
	if v6 := publicIPv6(instance); v6 != "" {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: strings.TrimSuffix(v6, "/128")})
	}
	return all
}

// publicIPv6 is the IPv6 address with its prefix length, as in the annotation.
func publicIPv6(instance api.Instance) string { return ptr.Deref(instance.IPv6, "") }

// find returns the Linode of a Node.
func (s *instances) find(ctx context.Context, node *corev1.Node) (linodeOf, error) {
	known, err := s.all(ctx)
	if err != nil {
		return linodeOf{}, err
	}
	if text, ok := strings.CutPrefix(node.Spec.ProviderID, providerPrefix); ok {
		id, err := strconv.Atoi(text)
		if err != nil {
			return linodeOf{}, fmt.Errorf("invalid provider ID %q", node.Spec.ProviderID)
		}
		if found, ok := known[id]; ok {
			return found, nil
		}
		return linodeOf{}, cloudprovider.InstanceNotFound
	}
	for _, l := range known {
		if l.Label == node.Name {
			return l, nil
		}
	}
	var own []string
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeExternalIP || a.Type == corev1.NodeInternalIP {
			own = append(own, a.Address)
		}
	}
	if own == nil { // a separate error, so that the Node is not deleted
		return linodeOf{}, fmt.Errorf("no IP address found on node %s", node.Name)
	}
	for _, l := range known {
		if slices.ContainsFunc(l.IPv4, func(a string) bool { return !isPrivate(a) && slices.Contains(own, a) }) {
			return l, nil
		}
	}
	return linodeOf{}, cloudprovider.InstanceNotFound
}

// InstanceExists implements cloudprovider.InstancesV2.
func (s *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := s.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (s *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := s.find(ctx, node)
	return err == nil && (found.Status == "offline" || found.Status == "shutting_down"), err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (s *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if s.cfg.Hold != nil && s.cfg.Hold(node.Name) {
		return nil, fmt.Errorf("node %s is not ready for pods: its kubelet is being replaced", node.Name)
	}
	found, err := s.find(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(found.addresses) == 0 {
		return nil, fmt.Errorf("instance %d has no IP addresses", found.ID)
	}
	all := append([]corev1.NodeAddress{{Type: corev1.NodeHostName, Address: found.Label}}, found.addresses...)
	for _, a := range node.Status.Addresses {
		has := slices.ContainsFunc(all, func(b corev1.NodeAddress) bool { return a.Address == b.Address })
		if !has && (a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeInternalDNS && s.cfg.KeepInternalDNS) {
			all = append(all, a)
		}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: providerPrefix + strconv.Itoa(found.ID), NodeAddresses: all, InstanceType: found.Type, Region: found.Region,
	}, nil
}
