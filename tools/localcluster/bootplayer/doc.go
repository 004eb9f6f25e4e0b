// Package bootplayer plays what the image of a Linode does when it boots in a
// self-managed cluster, and what that cluster's cloud controller manager does
// about its Node.
//
// It is called by package localcluster in instance mode. It follows the events of
// Linodes that are no LKE workers, and knows the simulator's Metadata service, the
// program controlplane.Machine and the Kubernetes API; it does not know who made
// a Linode.
//
// # A boot
//
// As cloud-init does, it reads the user data with Linode's own client of the
// Metadata service, parses the cloud-config, writes its files and runs its
// commands. The machine's root is a directory, <dir>/<Linode>/root. What it knows
// of cloud-config is hostname, write_files and runcmd: any other directive fails
// the boot, and so does a script that ends with an error.
//
// Scripts are run by a shell interpreter that can start no program of this
// machine and open no file outside of that root. The commands it has:
//
//   - sh, cat, rm, mkdir, touch, chmod, true: done, below the root;
//   - kubeadm join: done by kubeadm's own code, discovery included;
//   - kubelet: kubeadm starts it: the kubelet's own code over a runtime that runs
//     no container, in a process that ends when the Linode stops or is deleted;
//   - systemctl, modprobe, sysctl, swapoff, apt-get and others named in [Played]:
//     not done; the console shows each.
//
// Any other command is not found, as in an image that lacks it. What was written
// is the Linode's console, on the simulator's page.
//
// # Other parties
//
//   - The cloud controller manager: provider ID, instance type and region labels,
//     addresses, the uninitialized taint lifted; the Node deleted when its Linode is
//     gone. There is no zone label, as with Linode's own.
//   - A Linode without user data that [Config].Own names was set up by hand: its Node
//     is registered and kwok plays its kubelet.
//   - Above [Config].Kubelets processes, kwok takes over a Node that is Ready.
//
// Not played: the pod network, containers, kube-proxy, k3s and RKE2 (the boot ends
// at the command that is not here, and the console has its name), Talos, Ignition,
// the taint of a Linode that is shut down.
package bootplayer
