// Command karpenter-linode answers questions about a cluster with Karpenter for Linode, or before its installation: which nodes the
// cluster would have and at which price, what the nodes cost now, why a pod waits, and how another autoscaler's settings are translated.
// It also tries the operator on a real account.
//
// It reads and prints; only verify, which asks first, changes the cluster and the account. A copy with the name kubectl-karpenter_linode on
// the PATH is the kubectl plugin `kubectl karpenter-linode`. An error is one line on stderr with exit status 1.
//
// The version is the variable Version of Karpenter core's package operator. The build sets it, as it does for cmd/controller.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal makes verify clean up, and removes the handler. So a second signal ends the process.
	context.AfterFunc(ctx, stop)
	err := newRoot(filepath.Base(os.Args[0])).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenter-linode:", strings.Join(strings.Fields(printable.Text(err.Error())), " "))
		os.Exit(1)
	}
}

// newRoot returns the program. binary is the name by which a user has called it.
func newRoot(binary string) *cobra.Command {
	root := &cobra.Command{
		Use:           "karpenter-linode",
		Short:         "Karpenter for Linode: know before you buy, see what you have",
		Version:       coreoperator.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if strings.HasPrefix(binary, "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl karpenter-linode"}
	}
	root.AddCommand(newExplain(), newOpenCostPrices(), newPlans(), newRollout(), newTop(), newWhatif(), newDump(), newImport(), newVerify())
	return root
}
