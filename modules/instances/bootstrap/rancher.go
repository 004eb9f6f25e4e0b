package bootstrap

import "regexp"

// The installers that the projects publish, for Installer. "" is for images that have it.
const (
	K3sInstaller  = "https://get.k3s.io"
	RKE2Installer = "https://get.rke2.io"
)

var (
	// agentToken is what can be the token of an agent: K10<hash>::<user>:<password>,
	// or a text of the administrator's.
	agentToken   = regexp.MustCompile(`^[!-~]{8,512}$`)
	installerURL = regexp.MustCompile(`^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$`)
)

// agentScript runs as root at the first boot, with the service of the agent, the
// address of the installer and the version as its arguments.
const agentScript = `set -eu
service=$1 installer=$2 version=$3
cd ` + home + `
sh before.sh
if [ -n "$installer" ]; then
	curl --fail --silent --show-error --location --retry 5 --output installer.sh "$installer"
	case $service in
	k3s-agent) INSTALL_K3S_EXEC=agent INSTALL_K3S_SKIP_START=true INSTALL_K3S_VERSION=$version sh installer.sh ;;
	rke2-agent) INSTALL_RKE2_TYPE=agent INSTALL_RKE2_VERSION=$version sh installer.sh ;;
	esac
fi
systemctl enable --now "$service"
sh after.sh
`

// K3s returns the cloud-config of an agent of k3s. The token is the cluster's
// agent token; installer is the address of the install script, "" for an image that
// has k3s.
func K3s(c Config, token, installer string) ([]byte, error) {
	return agent(c, "k3s", token, installer)
}

// RKE2 is K3s for RKE2, whose servers listen for agents at port 9345.
func RKE2(c Config, token, installer string) ([]byte, error) {
	return agent(c, "rke2", token, installer)
}

func agent(c Config, distribution, token, installer string) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if !agentToken.MatchString(token) {
		return nil, wrong("token", "must be 8 to 512 printable characters without spaces")
	}
	if installer != "" && !installerURL.MatchString(installer) {
		return nil, wrong("installer", "%q must be an https address", installer)
	}
	settings := map[string]any{
		"server": "https://" + c.Cluster.Endpoint, "token": token, "node-name": c.Node.Name, "kubelet-arg": c.Node.Kubelet.args(),
	}
	if labels := c.Node.labelArgs(); len(labels) > 0 {
		settings["node-label"] = labels
	}
	if taints := c.Node.taintArgs(); len(taints) > 0 {
		settings["node-taint"] = taints
	}
	out := &cloudConfig{Hostname: c.Node.Name}
	if err := out.addYAML("/etc/rancher/"+distribution+"/config.yaml", settings); err != nil {
		return nil, err
	}
	out.commands(home+"before.sh", c.Before)
	out.commands(home+"after.sh", c.After)
	out.add(home+"bootstrap.sh", agentScript)
	out.Run = [][]string{{"sh", home + "bootstrap.sh", distribution + "-agent", installer, c.Cluster.Version}}
	return out.render()
}
