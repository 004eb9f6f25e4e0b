package bootstrap

import (
	"regexp"
	"strings"
)

var _ = row(Type{
	Name: "kubeadm", Token: NodeToken, JoinsEndpoint: true, PinsCA: true,
	render: func(in Inputs) ([]byte, error) { return Kubeadm(in.Config, in.Token) },
})

// bootstrapToken matches kubeadm's format of a token.
var bootstrapToken = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// kubeadmScript runs as root at the first boot. The commands before the join get the version in a variable, which an install step may
// use; nodeIP has the lines that find the node's address.
func kubeadmScript(version, nodeIP string) string {
	return `set -eu
cd ` + home + `
sh host.sh
` + VarKubeVersion + `='` + version + `' sh before.sh
` + nodeIP + `if ! command -v kubeadm >/dev/null; then
	echo "karpenter-bootstrap: the image has no kubeadm: use an image that has kubeadm, or install kubeadm in preJoinCommands" >&2
	exit 1
fi
kubeadm join --config join.yaml
rm -f join.yaml
systemctl enable kubelet.service
sh after.sh
`
}

// kubeadmNodeIP puts the address into the configuration of the join, from which kubeadm writes the kubelet's flags of each boot. Without
// an address the flag is empty, as a kubelet has it by default.
const kubeadmNodeIP = `join=$(while IFS= read -r line; do
	case $line in
	*` + nodeIPMark + `) line=${line%` + nodeIPMark + `}$address ;;
	esac
	printf '%s\n' "$line"
done <` + home + `join.yaml)
printf '%s\n' "$join" >` + home + `join.yaml
`

// Kubeadm returns the cloud-config of a node that joins with kubeadm (its
// configuration v1beta4, Kubernetes 1.31 and newer). The token is a bootstrap
// token, preferably for this node only.
func Kubeadm(c Config, token string) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if !bootstrapToken.MatchString(token) {
		return nil, wrong("token", "must have the form abcdef.0123456789abcdef")
	}
	if len(c.Cluster.CACertHashes) == 0 {
		return nil, wrong("Cluster.CACertHashes", "is empty: without a hash the node would join any server that answers at the endpoint")
	}
	out := &cloudConfig{Hostname: c.Node.Name}
	if err := out.addYAML(home+"join.yaml", joinConfiguration(c, token)); err != nil {
		return nil, err
	}
	if err := out.addYAML(home+"patches/kubeletconfiguration+strategic.yaml", kubeletConfiguration(c.Node)); err != nil {
		return nil, err
	}
	out.host(c.Node, true)
	out.commands(home+"before.sh", c.Before)
	out.commands(home+"after.sh", c.After)
	out.add(home+"bootstrap.sh", kubeadmScript(c.Cluster.Version, out.nodeIP(c.Node, kubeadmNodeIP)))
	out.Run = [][]string{{"sh", home + "bootstrap.sh"}}
	return out.render()
}

func joinConfiguration(c Config, token string) map[string]any {
	registration := map[string]any{
		"name":   c.Node.Name,
		"taints": taintObjects(c.Node),
		"kubeletExtraArgs": []any{
			map[string]any{"name": "cloud-provider", "value": "external"},
		},
	}
	more := func(name, value string) {
		registration["kubeletExtraArgs"] = append(registration["kubeletExtraArgs"].([]any), map[string]any{"name": name, "value": value})
	}
	if c.Node.Network != AnyNetwork {
		more("node-ip", nodeIPMark)
	}
	if labels := c.Node.labelArgs(); len(labels) > 0 {
		more("node-labels", strings.Join(labels, ","))
	}
	return map[string]any{
		"apiVersion": "kubeadm.k8s.io/v1beta4",
		"kind":       "JoinConfiguration",
		"discovery": map[string]any{"bootstrapToken": map[string]any{
			"apiServerEndpoint": c.Cluster.Endpoint, "caCertHashes": c.Cluster.CACertHashes, "token": token,
		}},
		"nodeRegistration": registration,
		"patches":          map[string]any{"directory": home + "patches"},
	}
}

// taintObjects never returns nil: kubeadm reads an empty list as no taints, and a
// missing list as its own default.
func taintObjects(n Node) []any {
	taints := []any{}
	for _, t := range n.sortedTaints() {
		taints = append(taints, map[string]any{"key": t.Key, "value": t.Value, "effect": t.Effect})
	}
	return taints
}

func kubeletConfiguration(n Node) map[string]any {
	return configured(n.Kubelet.configuration())
}
