// Package simulatedboot simulates what the image of a Linode does when it boots in a
// self-managed cluster.
//
// It is called by package localcluster in instance mode. It follows the events of
// Linodes that are no LKE workers, and uses the simulator's Metadata service, the
// program controlplane.Machine and the Kubernetes API; it is independent of who made
// a Linode.
//
// # A boot
//
// The user data is read with Linode's own client of the Metadata service. What reads it in the Linode depends on the
// image's label:
//
//   - "talos" in it: a worker's machine config, whose keys are known here, one by one. The kubelet starts with its settings and
//     bootstraps with cluster.token.
//   - "flatcar" in it: an Ignition config of spec 3, read by Ignition's own code, whose warnings fail the boot. Files are
//     written, and enabled units are run once, if their options are known here.
//   - any other: cloud-config, of which hostname, write_files and runcmd are known, or a script. As a template of Jinja it may have
//     the Linode's label.
//
// An unknown part fails the boot, and so does a script or unit that ends with an error. The machine's root is a
// directory, <dir>/<Linode>.
//
// Scripts are run by a shell interpreter that can start no program of this
// machine and open no file outside of that root. The commands it has:
//
//   - sh, cat, rm, mkdir, touch, chmod, true, and scripts of the root by their path: done, below the root;
//   - kubeadm join: done by kubeadm's own code, discovery included;
//   - the kubelet: its own code over a runtime that runs no container, in a process that ends when the Linode stops or is
//     deleted. kubeadm, Talos and the agents start it. With --node-ip it registers with that address, which must be the machine's;
//   - curl: the installers of k3s and RKE2, whose scripts are simulated: they check their variables;
//   - systemctl: starts the agents of k3s and RKE2, which register as package k3s describes. Other services are simulated;
//   - ip -4 -o address show scope global, with to PREFIX or without: the Linode's IPv4 addresses;
//   - modprobe, sysctl, swapoff, apt-get and others named in [Simulated]:
//     not done; the console shows each.
//
// Any other command is not found, as in an image that lacks it. What was written
// is the Linode's console, on the simulator's page.
//
// # Other parties
//
//   - A Linode without user data that [Config].Own names was set up by hand: its Node
//     is registered and kwok simulates its kubelet.
//   - Above [Config].Kubelets processes, kwok takes over a Node that is Ready. [Runner.Holds] reports Nodes that may not get pods before.
//   - The kubelet of a Linode that is gone is silent: its Node is Unknown at once. The cloud controller manager (package simulatedccm)
//     deletes it.
//
// Not simulated: the pod network, containers, kube-proxy, Talos's own services and its trustd.
package simulatedboot
