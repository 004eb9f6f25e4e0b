package bootstrap

// Files that systemd reads at each boot. Settings that the first boot makes only with modprobe, sysctl or swapoff are lost at the second
// boot, and the host of a Linode may reboot it at any time.
const (
	modulesFile = "/etc/modules-load.d/karpenter.conf"
	sysctlFile  = "/etc/sysctl.d/99-karpenter.conf"
)

// kernelModules are the modules that container runtimes and network plugins need.
const kernelModules = "overlay\nbr_netfilter\n"

// kernelSettings are the settings that kubeadm checks and network plugins need.
const kernelSettings = `net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
`

// kernelScript applies both files at the first boot. Kernels without a module are left to the network plugin.
const kernelScript = `modprobe -a $(cat ` + modulesFile + `) || true
sysctl -e -p ` + sysctlFile + `
`

// swapScript turns swap off for every boot: without swap.target systemd starts no swap, neither from /etc/fstab nor from a generator.
const swapScript = `swapoff -a
systemctl mask swap.target
`

// host writes the script host.sh, which prepares the machine for a kubelet at the first boot, and the files that do it at each later one.
func (c *cloudConfig) host(node Node, kernel bool) {
	script := "set -eu\n"
	if kernel {
		c.Files = append(c.Files,
			file{Path: modulesFile, Owner: "root:root", Permissions: "0644", Content: kernelModules},
			file{Path: sysctlFile, Owner: "root:root", Permissions: "0644", Content: kernelSettings})
		script += kernelScript
	}
	if !node.Kubelet.AllowSwap {
		script += swapScript
	}
	c.add(home+"host.sh", script)
}
