// Package simulatedboot simulates the boot of a Linode's image in a self-managed cluster.
//
// It is called by package localcluster in instance and clusterapi mode. It follows the
// events of Linodes that are no LKE workers, and uses the simulator's Metadata service,
// the program controlplane.Machine and the Kubernetes API. It does not matter which
// client made a Linode.
//
// # A boot
//
// The user data is read with Linode's own client of the Metadata service. The image's label decides which program of the
// Linode reads it:
//
//   - "talos" in it: a worker's machine config, whose keys are known here, one by one. The kubelet starts with its settings and
//     bootstraps with cluster.token.
//   - "flatcar" in it: an Ignition config of spec 3, read by Ignition's own code, whose warnings fail the boot. Files are
//     written, and enabled units are run once, if their options are known here.
//   - any other: cloud-config, of which hostname, write_files and runcmd are known, or a script. A template of Jinja may use the
//     Linode's label.
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
//   - systemctl: starts the agents of k3s and RKE2, which register as package k3s describes, and masks units. Other services
//     are simulated;
//   - ip -4 -o address show scope global, with to PREFIX or without: the Linode's IPv4 addresses;
//   - modprobe, sysctl and swapoff: change the state of a simulated kernel, which the next boot loses;
//   - apt-get and the other commands in [Simulated]: not done; the console shows each.
//
// Any other command is not found, as in an image that lacks it. The output of a boot
// is the Linode's console, on the simulator's page.
//
// # Other parties
//
//   - A Linode without user data that [Config].Own names was set up by hand: its Node
//     is registered and kwok simulates its kubelet.
//   - When more than [Config].Kubelets kubelets run, kwok takes over a Node once it is Ready. [Runner.Holds] reports Nodes that may not get
//     pods until then.
//   - The Node of a Linode that is gone is Unknown at once. The cloud controller manager (package simulatedccm) deletes it.
//
// Not simulated: the pod network, containers, kube-proxy, Talos's own services and its trustd.
package simulatedboot
