package bootstrap

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Error reports a value that cannot be used. Its text has no secret.
type Error struct {
	// Field is for example "Node.Labels[team]".
	Field string
	Err   error
}

func (e *Error) Error() string { return "bootstrap: " + e.Field + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format, args...)}
}

// Config describes one node and the cluster that it joins.
type Config struct {
	Node    Node
	Cluster Cluster
	// Before and After are shell commands of the user. Each of the two runs as one script, before the node joins and after that. If a command
	// of Before fails, the node does not join.
	Before, After []string
}

// Node describes the node that registers.
type Node struct {
	// Name is the Linode's label.
	Name string
	// Labels are set by the kubelet, as far as the kubelet may set them; see SelfLabels.
	Labels  map[string]string
	Taints  []Taint
	Kubelet Kubelet
	// Network has the address by which the node is known in the cluster, the kubelet's --node-ip.
	Network Network
}

// Taint is a Kubernetes taint.
type Taint struct{ Key, Value, Effect string }

// Cluster describes the cluster that the node joins.
type Cluster struct {
	// Endpoint is host and port of the API server; for k3s and RKE2, of the server.
	Endpoint string
	// CACertHashes have the form sha256:<hex>. Only kubeadm and Custom use them.
	CACertHashes []string
	// Version is for example v1.35.2, v1.35.2+k3s1 or v1.35.2+rke2r1; "" for the
	// version of the image or the installer.
	Version string
}

var (
	nodeName   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	keyName    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	caHash     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	version    = regexp.MustCompile(`^v1\.[0-9]{1,3}\.[0-9]{1,3}([-+][A-Za-z0-9.+-]{1,32})?$`)
)

func (c *Config) check() error {
	if err := c.Node.check(); err != nil {
		return err
	}
	if err := c.Cluster.check(); err != nil {
		return err
	}
	for field, commands := range map[string][]string{"Before": c.Before, "After": c.After} {
		for i, command := range commands {
			if strings.ContainsRune(command, 0) {
				return wrong(fmt.Sprintf("%s[%d]", field, i), "has a NUL character")
			}
		}
	}
	return nil
}

func (n *Node) check() error {
	if len(n.Name) > 63 || !nodeName.MatchString(n.Name) {
		return wrong("Node.Name", "%q must be lower case letters, digits, '-' and '.', at most 63 of them", n.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		field := "Node.Labels[" + key + "]"
		if err := checkKey(field, key); err != nil {
			return err
		}
		if !labelValue.MatchString(n.Labels[key]) {
			return wrong(field, "%q is not a valid label value", n.Labels[key])
		}
	}
	for i, taint := range n.Taints {
		field := fmt.Sprintf("Node.Taints[%d]", i)
		if err := checkKey(field+".Key", taint.Key); err != nil {
			return err
		}
		if !labelValue.MatchString(taint.Value) {
			return wrong(field+".Value", "%q is not a valid taint value", taint.Value)
		}
		if !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, taint.Effect) {
			return wrong(field+".Effect", "%q must be NoSchedule, PreferNoSchedule or NoExecute", taint.Effect)
		}
	}
	if err := n.Network.check(); err != nil {
		return err
	}
	return n.Kubelet.check()
}

func checkKey(field, key string) error {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	if !keyName.MatchString(name) || prefixed && (len(prefix) > 253 || !nodeName.MatchString(prefix)) {
		return wrong(field, "%q is not a valid key: [DNS name/]name, the name with at most 63 letters, digits, '-', '_' and '.'", key)
	}
	return nil
}

// older reports whether a version is known, and older than a minor version of Kubernetes 1.
func older(version string, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return false
	}
	found, err := strconv.Atoi(parts[1])
	return err == nil && found < minor
}

func (c *Cluster) check() error {
	host, port, err := net.SplitHostPort(c.Endpoint)
	number, numberErr := strconv.Atoi(port)
	if err != nil || numberErr != nil || number < 1 || number > 65535 || net.ParseIP(host) == nil && !nodeName.MatchString(host) {
		return wrong("Cluster.Endpoint", "%q must be a DNS name or an address, a colon and a port", c.Endpoint)
	}
	for i, hash := range c.CACertHashes {
		if !caHash.MatchString(hash) {
			return wrong(fmt.Sprintf("Cluster.CACertHashes[%d]", i), "%q must be sha256: and 64 hexadecimal digits", hash)
		}
	}
	if c.Version != "" && !version.MatchString(c.Version) {
		return wrong("Cluster.Version", "%q must be like v1.35.2 or v1.35.2+k3s1", c.Version)
	}
	return nil
}

// ownLabels are the labels of Kubernetes' own domains that the NodeRestriction
// plugin lets a kubelet set (Kubernetes: Using Node Authorization).
var ownLabels = []string{
	"kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region",
	"topology.kubernetes.io/zone",
}

// SelfLabels returns the labels that a kubelet may set on its own node. The
// others are set by the controller that registers the node.
func SelfLabels(labels map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range labels {
		domain, _, _ := strings.Cut(key, "/")
		in := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
		reserved := strings.Contains(key, "/") && (in("kubernetes.io") || in("k8s.io"))
		if !reserved || slices.Contains(ownLabels, key) || in("kubelet.kubernetes.io") || in("node.kubernetes.io") {
			own[key] = value
		}
	}
	return own
}

// labelArgs returns key=value, in the order of their keys.
func (n *Node) labelArgs() []string {
	labels := SelfLabels(n.Labels)
	args := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		args = append(args, key+"="+labels[key])
	}
	return args
}

// taintArgs returns key=value:effect, in order.
func (n *Node) taintArgs() []string {
	var args []string
	for _, taint := range n.sortedTaints() {
		args = append(args, taint.Key+"="+taint.Value+":"+taint.Effect)
	}
	return args
}

func (n *Node) sortedTaints() []Taint {
	return slices.SortedFunc(slices.Values(n.Taints), func(a, b Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
}
