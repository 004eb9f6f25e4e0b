package world

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

func onBalancer(b api.NodeBalancer) *api.AccountEventEntity {
	return onObject("nodebalancer", b.ID, deref(b.Label), "/v4/nodebalancers/%d")
}

// ListNodeBalancers lists them by ID. Nothing is balanced.
func (w NodeBalancers) ListNodeBalancers() ([]api.NodeBalancer, error) {
	return each(sorted(w.assets.balancers), w.shown), nil
}

// shown adds the fields that only v4beta has.
func (w NodeBalancers) shown(b api.NodeBalancer) api.NodeBalancer {
	if w.Beta {
		b.Locks = &noLocks
	}
	return b
}

// GetNodeBalancer finds one.
func (w NodeBalancers) GetNodeBalancer(nodebalancerID int) (api.NodeBalancer, error) {
	b, err := lookup(w.assets.balancers, nodebalancerID)
	return w.shown(b), err
}

// CreateNodeBalancer makes one with its ports and their nodes, all or nothing.
func (w NodeBalancers) CreateNodeBalancer(b *api.NodeBalancerCreate) (api.NodeBalancer, error) {
	var bad reasons
	w.Offers().checkRegion(&bad, b.Region, catalog.CapNodeBalancers, "NodeBalancers are")
	w.checkLabel(&bad, 0, deref(b.Label))
	checkThrottle(&bad, b.ClientConnThrottle)
	checkTags(&bad, deref(b.Tags))
	firewall := cmp.Or(deref(b.FirewallID), deref(w.assets.defaults.Nodebalancer))
	if _, there := w.assets.firewalls[firewall]; firewall > 0 && !there {
		bad.invalid("firewall_id")
	}
	if deref(b.IPv4) != "" { // the account has no reserved addresses
		bad.add("ipv4", "Must provide a single valid reserved ipv4 address")
	}
	networks := w.allot(&bad, b)
	var taken []api.NodeBalancerConfig
	for n, c := range deref(b.Configs) {
		at := fmt.Sprintf("configs[%d].", n)
		made := filled(api.NodeBalancerConfig{}, c)
		checkPort(&bad, at, made, taken)
		taken = append(taken, made)
		for m, node := range deref(c.Nodes) {
			w.checkBackend(&bad, fmt.Sprintf("%snodes[%d].", at, m), b.Region, node.Address, node.SubnetID)
		}
	}
	if err := bad.err(); err != nil {
		return api.NodeBalancer{}, err
	}
	id := w.sideID(&w.seq.balancer)
	public, _, v6 := w.addresses()
	prefix := netip.MustParsePrefix(v6)
	made := api.NodeBalancer{
		ID: id, Label: new(cmp.Or(deref(b.Label), fmt.Sprintf("balancer%d", id))), Region: b.Region, IPv4: &public,
		IPv6: new(prefix.Addr().String()), Hostname: new(fmt.Sprintf("nb-%d.nodebalancer.example.com", id)),
		ClientConnThrottle: deref(b.ClientConnThrottle), ClientUDPSessThrottle: new(deref(b.ClientUDPSessThrottle)),
		Type: new(cmp.Or(string(deref(b.Type)), "common")), Tags: union(deref(b.Tags)), Created: w.stamp(), Updated: w.stamp(),
		Transfer: api.NodeBalancerTransfer{Total: new(float32(0)), Out: new(float32(0)), In: new(float32(0))},
	}
	w.settle(&made, networks)
	w.assets.balancers[id] = made
	w.noted(account.AssetCreated, "nodebalancer_create", made)
	if firewall > 0 {
		w.Firewalls().attach(firewall, device{balancer: id})
	}
	for _, c := range deref(b.Configs) {
		w.addPort(made, c)
	}
	return w.shown(made), nil
}

func (w NodeBalancers) noted(action, event string, b api.NodeBalancer) {
	w.note(action, fmt.Sprintf("nodebalancer %d", b.ID), 0)
	w.happened(w.User, event, onBalancer(b), nil)
}

func (w NodeBalancers) checkLabel(bad *reasons, self int, label string) {
	if label == "" {
		return
	}
	checkLength(bad, "label", label, 3, 32)
	for _, other := range w.assets.balancers {
		if other.ID != self && deref(other.Label) == label {
			bad.add("label", "Label must be unique among your NodeBalancers")
		}
	}
}

func checkThrottle(bad *reasons, value *int) {
	if n := deref(value); n < 0 || n > 20 {
		bad.add("client_conn_throttle", "Must be 0-20")
	}
}

// UpdateNodeBalancer changes label, throttles and tags.
func (w NodeBalancers) UpdateNodeBalancer(nodebalancerID int, b *api.NodeBalancerUpdate) (api.NodeBalancer, error) {
	found, err := lookup(w.assets.balancers, nodebalancerID)
	if err != nil {
		return found, err
	}
	var bad reasons
	w.checkLabel(&bad, nodebalancerID, deref(b.Label))
	checkThrottle(&bad, b.ClientConnThrottle)
	checkTags(&bad, deref(b.Tags))
	if err := bad.err(); err != nil {
		return api.NodeBalancer{}, err
	}
	found = overlaid[api.NodeBalancer](found, b)
	found.Updated = w.stamp()
	w.assets.balancers[nodebalancerID] = found
	w.noted(account.AssetChanged, "nodebalancer_update", found)
	return w.shown(found), nil
}

// DeleteNodeBalancer removes one with its ports.
func (w NodeBalancers) DeleteNodeBalancer(nodebalancerID int) error {
	found, err := lookup(w.assets.balancers, nodebalancerID)
	if err != nil {
		return err
	}
	for _, p := range w.assets.ports[nodebalancerID] {
		delete(w.assets.backends, p.ID)
	}
	for _, d := range sorted(w.assets.devices) {
		if d.balancer == nodebalancerID {
			w.Firewalls().detach(d)
		}
	}
	delete(w.assets.ports, nodebalancerID)
	delete(w.assets.networks, nodebalancerID)
	delete(w.assets.balancers, nodebalancerID)
	w.noted(account.AssetDeleted, "nodebalancer_delete", found)
	return nil
}

// udpSession is how long a session of UDP lasts, in seconds (FACTS 18, third table, 4).
const udpSession = 16

// filled applies the given fields, over the defaults of a new port if the port does not exist.
func filled(to api.NodeBalancerConfig, b any) api.NodeBalancerConfig {
	if to.Protocol == "" {
		to = api.NodeBalancerConfig{
			Port: 80, Protocol: "http", Algorithm: "roundrobin", Stickiness: "none", Check: "none", CheckInterval: 31, CheckTimeout: 30,
			CheckAttempts: 3, CheckPassive: true, ProxyProtocol: "none", CipherSuite: "recommended", UDPCheckPort: new(80), ID: to.ID,
			NodebalancerID: to.NodebalancerID,
		}
	}
	out := overlaid[api.NodeBalancerConfig](to, b)
	out.UDPSessionTimeout = new(0) // a guess for other protocols; the field is always there
	if out.Protocol == "udp" {
		out.UDPSessionTimeout = new(udpSession)
	}
	if out.SslCert != nil {
		out.SslCert, out.SslKey = new("<REDACTED>"), new("<REDACTED>") // recorded: they are not shown again
	}
	return out
}

func checkPort(bad *reasons, at string, c api.NodeBalancerConfig, others []api.NodeBalancerConfig) {
	if c.Port < 1 || c.Port > 65535 {
		bad.add(at+"port", "Must be 1-65535")
	}
	for _, other := range others {
		if udp := api.NodeBalancerConfigProtocol("udp"); other.ID != c.ID || c.ID == 0 {
			if other.Port == c.Port && (other.Protocol == udp) == (c.Protocol == udp) {
				bad.add(at+"port", "Port must be unique among the configurations of a NodeBalancer")
			}
		}
	}
	if c.Protocol == "https" && (c.SslCert == nil || c.SslKey == nil) {
		bad.add(at+"ssl_cert", "An SSL certificate and key are required for https")
	}
}

func (w NodeBalancers) addPort(b api.NodeBalancer, c api.NodeBalancerConfigCreate) api.NodeBalancerConfig {
	nodes := deref(c.Nodes)
	c.Nodes = nil
	made := filled(api.NodeBalancerConfig{ID: w.sideID(&w.seq.port), NodebalancerID: b.ID}, c)
	w.assets.ports[b.ID] = append(slices.Clone(w.assets.ports[b.ID]), made)
	w.noted(account.AssetChanged, "nodebalancer_config_create", b)
	for _, n := range nodes {
		w.addBackend(made, n)
	}
	return w.counted(made)
}

// counted fills in how many nodes are up. A node is up while its Linode runs.
func (w NodeBalancers) counted(c api.NodeBalancerConfig) api.NodeBalancerConfig {
	c.NodesStatus = api.NodeBalancerNodesStatus{}
	for _, n := range w.assets.backends[c.ID] {
		if w.probed(n).Status == api.NodeBalancerNodeStatusUP {
			c.NodesStatus.Up++
		} else {
			c.NodesStatus.Down++
		}
	}
	return c
}

// port finds a port with its NodeBalancer.
func (w NodeBalancers) port(balancer, id int) (api.NodeBalancer, *api.NodeBalancerConfig, error) {
	b, err := lookup(w.assets.balancers, balancer)
	at := slices.IndexFunc(w.assets.ports[balancer], func(c api.NodeBalancerConfig) bool { return c.ID == id })
	if err != nil || at < 0 {
		return b, nil, NotFound()
	}
	return b, &w.assets.ports[balancer][at], nil
}

// ListNodeBalancerConfigs lists the ports of a NodeBalancer.
func (w NodeBalancers) ListNodeBalancerConfigs(nodebalancerID int) ([]api.NodeBalancerConfig, error) {
	_, err := lookup(w.assets.balancers, nodebalancerID)
	return each(w.assets.ports[nodebalancerID], w.counted), err
}

// GetNodeBalancerConfig finds one.
func (w NodeBalancers) GetNodeBalancerConfig(nodebalancerID, nodebalancerConfigID int) (api.NodeBalancerConfig, error) {
	_, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return api.NodeBalancerConfig{}, err
	}
	return w.counted(*c), nil
}

// CreateNodeBalancerConfig adds a port.
func (w NodeBalancers) CreateNodeBalancerConfig(nodebalancerID int, b *api.NodeBalancerConfigCreate) (api.NodeBalancerConfig, error) {
	balancer, err := lookup(w.assets.balancers, nodebalancerID)
	if err != nil {
		return api.NodeBalancerConfig{}, err
	}
	var bad reasons
	bare := *b
	bare.Nodes = nil
	checkPort(&bad, "", filled(api.NodeBalancerConfig{}, bare), w.assets.ports[nodebalancerID])
	for n, node := range deref(b.Nodes) {
		w.checkBackend(&bad, fmt.Sprintf("nodes[%d].", n), balancer.Region, node.Address, node.SubnetID)
	}
	if err := bad.err(); err != nil {
		return api.NodeBalancerConfig{}, err
	}
	return w.addPort(balancer, *b), nil
}

// UpdateNodeBalancerConfig changes a port, and not its nodes.
func (w NodeBalancers) UpdateNodeBalancerConfig(nodebalancerID, nodebalancerConfigID int, b *api.NodeBalancerConfigCreate) (
	api.NodeBalancerConfig, error) {
	balancer, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return api.NodeBalancerConfig{}, err
	}
	bare := *b
	bare.Nodes = nil
	return w.replacePort(balancer, c, bare)
}

func (w NodeBalancers) replacePort(balancer api.NodeBalancer, c *api.NodeBalancerConfig, b any) (api.NodeBalancerConfig, error) {
	changed := filled(*c, b)
	var bad reasons
	checkPort(&bad, "", changed, w.assets.ports[balancer.ID])
	if err := bad.err(); err != nil {
		return api.NodeBalancerConfig{}, err
	}
	*c = changed
	w.noted(account.AssetChanged, "nodebalancer_config_update", balancer)
	return w.counted(changed), nil
}

// RebuildNodeBalancerConfig replaces a port with all its nodes, all or nothing.
func (w NodeBalancers) RebuildNodeBalancerConfig(nodebalancerID, nodebalancerConfigID int, b *api.NodeBalancerConfigRebuild) (
	api.NodeBalancerConfig, error) {
	balancer, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return api.NodeBalancerConfig{}, err
	}
	var bad reasons
	for n, node := range b.Nodes {
		w.checkBackend(&bad, fmt.Sprintf("nodes[%d].", n), balancer.Region, node.Address, node.SubnetID)
		if id := deref(node.ID); id != 0 && !slices.ContainsFunc(w.assets.backends[c.ID], hasID(id)) {
			bad.invalid(fmt.Sprintf("nodes[%d].id", n))
		}
	}
	if err := bad.err(); err != nil {
		return api.NodeBalancerConfig{}, err
	}
	bare := overlaid[api.NodeBalancerConfigCreate](b)
	bare.Nodes = nil
	if _, err := w.replacePort(balancer, c, bare); err != nil {
		return api.NodeBalancerConfig{}, err
	}
	before := w.assets.backends[c.ID]
	w.assets.backends[c.ID] = nil
	for _, node := range b.Nodes {
		if at := slices.IndexFunc(before, hasID(deref(node.ID))); at >= 0 {
			kept := overlaid[api.NodeBalancerNode](before[at], node)
			w.assets.backends[c.ID] = append(w.assets.backends[c.ID], kept)
			continue
		}
		w.addBackend(*c, overlaid[api.NodeBalancerNodeCreate](node))
	}
	return w.counted(*c), nil
}

func hasID(id int) func(api.NodeBalancerNode) bool {
	return func(n api.NodeBalancerNode) bool { return n.ID == id }
}

// DeleteNodeBalancerConfig removes a port with its nodes.
func (w NodeBalancers) DeleteNodeBalancerConfig(nodebalancerID, nodebalancerConfigID int) error {
	balancer, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return err
	}
	delete(w.assets.backends, c.ID)
	w.assets.ports[nodebalancerID] = slices.DeleteFunc(slices.Clone(w.assets.ports[nodebalancerID]), func(p api.NodeBalancerConfig) bool {
		return p.ID == nodebalancerConfigID
	})
	w.noted(account.AssetChanged, "nodebalancer_config_delete", balancer)
	return nil
}

// checkBackend refuses an address unless a Linode in the region has it: as its private address, or as its address in a
// VPC (in the given subnet, if there is one). The API's words are not known.
func (w NodeBalancers) checkBackend(bad *reasons, at, region, address string, subnet *int) {
	where, err := netip.ParseAddrPort(address)
	if err != nil || where.Port() == 0 {
		bad.add(at+"address", "Must be an address and a port")
		return
	}
	if w.behind(region, where.Addr().String(), deref(subnet)) == nil {
		bad.add(at+"address", "Must be a private address of a Linode in the region of the NodeBalancer")
	}
}

// behind finds the Linode that has an address.
func (w NodeBalancers) behind(region, address string, subnet int) *Instance {
	for _, i := range sorted(w.instances) {
		if i.Region != region {
			continue
		}
		if i.PrivateIPv4 == address {
			return i
		}
		for _, f := range w.Interfaces().nics(i) {
			if f.purpose == "vpc" && f.address == address && (subnet == 0 || f.subnetID == subnet) {
				return i
			}
		}
	}
	return nil
}

func (w NodeBalancers) addBackend(c api.NodeBalancerConfig, b api.NodeBalancerNodeCreate) api.NodeBalancerNode {
	made := api.NodeBalancerNode{
		ID: w.sideID(&w.seq.backend), Label: b.Label, Address: b.Address, Weight: cmp.Or(deref(b.Weight), 50),
		Mode: cmp.Or(api.NodeBalancerNodeMode(deref(b.Mode)), "accept"), Status: "Unknown", ConfigID: c.ID, NodebalancerID: c.NodebalancerID,
	}
	w.assets.backends[c.ID] = append(slices.Clone(w.assets.backends[c.ID]), made)
	return w.probed(made)
}

// probed fills in whether a node answers.
func (w NodeBalancers) probed(n api.NodeBalancerNode) api.NodeBalancerNode {
	n.Status = api.NodeBalancerNodeStatusDOWN
	where, _ := netip.ParseAddrPort(n.Address)
	n.VPCConfigID = w.networkOf(n.NodebalancerID, where.Addr())
	if i := w.behind(w.assets.balancers[n.NodebalancerID].Region, where.Addr().String(), 0); i != nil && i.Status == account.StatusRunning {
		n.Status = api.NodeBalancerNodeStatusUP
	}
	return n
}

// ListNodeBalancerNodes lists the nodes of a port.
func (w NodeBalancers) ListNodeBalancerNodes(nodebalancerID, nodebalancerConfigID int) ([]api.NodeBalancerNode, error) {
	_, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return nil, err
	}
	return each(w.assets.backends[c.ID], w.probed), nil
}

func (w NodeBalancers) backend(balancer, config, id int) (api.NodeBalancer, *api.NodeBalancerNode, error) {
	b, c, err := w.port(balancer, config)
	if err != nil {
		return b, nil, err
	}
	at := slices.IndexFunc(w.assets.backends[c.ID], hasID(id))
	if at < 0 {
		return b, nil, NotFound()
	}
	return b, &w.assets.backends[c.ID][at], nil
}

// GetNodeBalancerNode finds one.
func (w NodeBalancers) GetNodeBalancerNode(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID int) (api.NodeBalancerNode, error) {
	_, n, err := w.backend(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID)
	if err != nil {
		return api.NodeBalancerNode{}, err
	}
	return w.probed(*n), nil
}

// CreateNodeBalancerNode adds a node to a port.
func (w NodeBalancers) CreateNodeBalancerNode(nodebalancerID, nodebalancerConfigID int, b *api.NodeBalancerNodeCreate) (
	api.NodeBalancerNode, error) {
	balancer, c, err := w.port(nodebalancerID, nodebalancerConfigID)
	if err != nil {
		return api.NodeBalancerNode{}, err
	}
	var bad reasons
	w.checkBackend(&bad, "", balancer.Region, b.Address, b.SubnetID)
	if err := bad.err(); err != nil {
		return api.NodeBalancerNode{}, err
	}
	w.noted(account.AssetChanged, "nodebalancer_node_create", balancer)
	return w.addBackend(*c, *b), nil
}

// UpdateNodeBalancerNode changes a node of a port.
func (w NodeBalancers) UpdateNodeBalancerNode(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID int, b *api.NodeBalancerNodeUpdate) (
	api.NodeBalancerNode, error) {
	balancer, n, err := w.backend(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID)
	if err != nil {
		return api.NodeBalancerNode{}, err
	}
	if b.Address != nil {
		var bad reasons
		w.checkBackend(&bad, "", balancer.Region, *b.Address, b.SubnetID)
		if err := bad.err(); err != nil {
			return api.NodeBalancerNode{}, err
		}
	}
	*n = overlaid[api.NodeBalancerNode](*n, b)
	w.noted(account.AssetChanged, "nodebalancer_node_update", balancer)
	return w.probed(*n), nil
}

// DeleteNodeBalancerNode removes a node from a port.
func (w NodeBalancers) DeleteNodeBalancerNode(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID int) error {
	balancer, n, err := w.backend(nodebalancerID, nodebalancerConfigID, nodebalancerNodeID)
	if err != nil {
		return err
	}
	config, id := n.ConfigID, n.ID
	w.assets.backends[config] = slices.DeleteFunc(slices.Clone(w.assets.backends[config]), hasID(id))
	w.noted(account.AssetChanged, "nodebalancer_node_delete", balancer)
	return nil
}
