package bootstrap

import "strings"

// Network names the network in which a machine has the address that its node has in the cluster.
type Network string

// Values of Network.
const (
	// AnyNetwork leaves the choice to the kubelet and the cloud controller manager.
	AnyNetwork Network = ""
	// PrivateNetwork is 192.168.128.0/17, the network of Linodes' private addresses.
	PrivateNetwork Network = "private"
	// VPCNetwork is the VPC: every private network except 192.168.128.0/17, which no subnet of a VPC may overlap.
	VPCNetwork Network = "vpc"
)

// A Linode's address is chosen when it is made, so that no user data can contain it: the machine looks for it at its first boot, before a
// network plugin has added other addresses.
const (
	nodeIPScript = home + "nodeip.sh"
	nodeIPFile   = home + "node-ip"
	// nodeIPMark stands for the address in files that are written before it is known.
	nodeIPMark = "KARPENTER_NODE_IP"

	privatePattern = "192.168.12[89].*|192.168.1[3-9][0-9].*|192.168.2[0-9][0-9].*"
	vpcPattern     = "10.*|172.1[6-9].*|172.2[0-9].*|172.3[01].*|192.168.*"
)

// Networks returns the prefixes of the network, none for AnyNetwork.
func (n Network) Networks() []string {
	switch n {
	case PrivateNetwork:
		return []string{"192.168.128.0/17"}
	case VPCNetwork:
		return []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/17"}
	}
	return nil
}

// script finds the address and writes it to nodeIPFile, which stays empty without an address: a node that joins without an address can
// still get one from the cloud controller manager.
func (n Network) script() string {
	cases := "\t" + privatePattern + ") echo \"$address\"; break ;;\n"
	if n == VPCNetwork {
		cases = "\t" + privatePattern + ") ;;\n\t" + vpcPattern + ") echo \"$address\"; break ;;\n"
	}
	return `set -eu
ip -4 -o address show scope global | while read -r _ _ _ address _; do
	address=${address%/*}
	case $address in
` + cases + `	esac
done >` + nodeIPFile + `
if [ -z "$(cat ` + nodeIPFile + `)" ]; then
	echo "karpenter-bootstrap: no address in ` + strings.Join(n.Networks(), ", ") + `: the node joins without --node-ip" >&2
fi
`
}

// check refuses a text that is no Network.
func (n Network) check() error {
	switch n {
	case AnyNetwork, PrivateNetwork, VPCNetwork:
		return nil
	}
	return wrong("Node.Network", "%q must be %s, %s or empty", n, PrivateNetwork, VPCNetwork)
}

// nodeIP writes the script that finds the node's address. It returns lines for the script of the first boot: they run that script, and then
// the lines in use, which have the address as $address. For AnyNetwork it writes and returns nothing.
func (c *cloudConfig) nodeIP(node Node, use string) string {
	if node.Network == AnyNetwork {
		return ""
	}
	c.add(nodeIPScript, node.Network.script())
	return "sh nodeip.sh\naddress=$(cat node-ip)\n" + use
}
