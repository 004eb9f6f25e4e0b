// Command machine stands for the programs in the image of a self-managed cluster's node: kubeadm's own code and the
// kubelet's own code. The kubelet uses a container runtime that only pretends to run containers.
//
//	machine init --kubeconfig=admin.conf --config=init.yaml    what `kubeadm init` leaves in a cluster for nodes that join
//	machine join --root=DIR --config=join.yaml                 kubeadm join, up to and without the kubelet's start
//	machine kubelet --root=DIR --port=10250 --capacity=cpu=2,... -- --kubeconfig=/etc/kubernetes/kubelet.conf
//	                                                           the kubelet, with its own flags behind the dashes
//
// It is built by package controlplane and run by the local cluster: init once, join and kubelet when a simulated Linode
// boots. DIR takes the place of the machine's root directory: every path of kubeadm and of the kubelet lies below it.
//
// Real parts: discovery with a bootstrap token (the signature of cluster-info, the hash of the certificate authority),
// the cluster's configuration, patches, the kubelet's flags and configuration file, its TLS bootstrap, registration,
// status, lease, admission of pods, their life up to the runtime. Missing parts: preflight checks, the container runtime,
// cgroups, mounts, the machine's size (it is given), events of the kubelet, rotation of its client certificate.
//
// It listens on loopback only, and exits with 1 and one line on failure.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.EnableContextualLogging(true)
	root := &cobra.Command{
		Use: "machine", Short: "kubeadm and kubelet of a simulated machine",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.AddCommand(initCommand(), joinCommand(), kubeletCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		stop()
		os.Exit(1)
	}
}
