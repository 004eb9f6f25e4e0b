package bootstrap

import "regexp"

var (
	// agentToken matches the full form of an agent's token: K10<hash>::<user>:<password>. Without the hash of the
	// cluster's CA the agent trusts any server that answers, and sends it the password.
	agentToken   = regexp.MustCompile(`^K10[0-9a-f]{64}::[!-~]{8,448}$`)
	installerURL = regexp.MustCompile(`^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$`)
)

// firstWithConfig is the minor version from which on the agent merges the file of the kubelet's flag config over its own defaults
// (k3s-io/k3s issue 2116, k3s-io/docs pull request 433). Older kubelets merge it wrongly.
const firstWithConfig = 32

// distribution is k3s or RKE2, whose agents join in the same way.
type distribution struct {
	name    string
	install string // the command that runs installer.sh for an agent of $version
}

// nodeIP adds the address to the agent's configuration, which the agent reads at each start.
func (d distribution) nodeIP() string {
	folder := "/etc/rancher/" + d.name + "/config.yaml.d"
	return `if [ -n "$address" ]; then
	mkdir -p ` + folder + `
	printf 'node-ip: %s\n' "$address" >` + folder + `/karpenter-node-ip.yaml
fi
`
}

// script runs as root at the first boot, with the service of the agent, the address of the installer and the version as its arguments.
// nodeIP has the lines that find the node's address.
func (d distribution) script(nodeIP string) string {
	return `set -eu
service=$1 installer=$2 version=$3
cd ` + home + `
sh host.sh
sh before.sh
` + nodeIP + `if [ -n "$installer" ]; then
	curl --fail --silent --show-error --proto =https --location --retry 5 --output installer.sh "$installer"
	` + d.install + `
fi
systemctl enable --now "$service"
sh after.sh
`
}

func (d distribution) agent(c Config, token, installer string) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if !agentToken.MatchString(token) {
		return nil, wrong("token", "must have the form K10<hash of the CA>::<user>:<password>, as the server's file agent-token has it: "+
			"without the hash a node would join any server that answers at the endpoint")
	}
	if installer != "" && !installerURL.MatchString(installer) {
		return nil, wrong("installer", "%q must be an https address", installer)
	}
	args, file := c.Node.Kubelet.args(), "/etc/rancher/"+d.name+"/karpenter-kubelet.yaml"
	if len(c.Node.Kubelet.Extra) > 0 {
		if older(c.Cluster.Version, firstWithConfig) {
			return nil, wrong("Node.Kubelet.Extra", "needs %s of v1.%d or newer, and the version is %s", d.name, firstWithConfig, c.Cluster.Version)
		}
		args = append(args, "config="+file)
	}
	settings := map[string]any{
		"server": "https://" + c.Cluster.Endpoint, "token": token, "node-name": c.Node.Name, "kubelet-arg": args,
	}
	if labels := c.Node.labelArgs(); len(labels) > 0 {
		settings["node-label"] = labels
	}
	if taints := c.Node.taintArgs(); len(taints) > 0 {
		settings["node-taint"] = taints
	}
	out := &cloudConfig{Hostname: c.Node.Name}
	if err := out.addYAML("/etc/rancher/"+d.name+"/config.yaml", settings); err != nil {
		return nil, err
	}
	if len(c.Node.Kubelet.Extra) > 0 {
		if err := out.addYAML(file, configured(c.Node.Kubelet.Extra)); err != nil {
			return nil, err
		}
	}
	out.host(c.Node, false) // the agent loads modules and sets sysctls at each start
	out.commands(home+"before.sh", c.Before)
	out.commands(home+"after.sh", c.After)
	out.add(home+"bootstrap.sh", d.script(out.nodeIP(c.Node, d.nodeIP())))
	out.Run = [][]string{{"sh", home + "bootstrap.sh", d.name + "-agent", installer, c.Cluster.Version}}
	return out.render()
}
