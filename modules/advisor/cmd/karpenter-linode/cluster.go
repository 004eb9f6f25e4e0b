package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// access has the flags that select a cluster. They have kubectl's names.
type access struct {
	kubeconfig, context string
}

func (a *access) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.kubeconfig, "kubeconfig", "", "path of the kubeconfig file; without it KUBECONFIG, or ~/.kube/config")
	cmd.Flags().StringVar(&a.context, "context", "", "context of the kubeconfig")
}

func (a *access) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context}).
		ClientConfig()
	if err != nil {
		return nil, &options.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err,
			Fix: "set KUBECONFIG to a kubeconfig file, or use --kubeconfig"}
	}
	config.QPS, config.Burst = 50, 100
	return config, nil
}

func (a *access) client() (client.Client, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, &options.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err,
			Fix: "check the address and the credentials"}
	}
	return kube, nil
}

// source has the flags that determine where the objects of a cluster come from.
type source struct {
	access
	from      []string
	nodePools []string
}

func (s *source) flags(cmd *cobra.Command) {
	s.access.flags(cmd)
	cmd.Flags().StringSliceVar(&s.from, "from", nil, "files with a cluster's objects, as dump or kubectl writes them; - is stdin; without "+
		"it the cluster of the kubeconfig")
	cmd.Flags().StringSliceVar(&s.nodePools, "nodepools", nil, "files with NodePools and LinodeNodeClasses, in place of the cluster's")
}

// read returns the cluster. The NodePools of the files of --nodepools replace the cluster's NodePools; their LinodeNodeClasses, if the
// files have any, replace the cluster's.
func (s *source) read(cmd *cobra.Command) (*snapshot.Snapshot, error) {
	cluster, err := s.cluster(cmd)
	if err != nil || len(s.nodePools) == 0 {
		return cluster, err
	}
	own, err := readFiles(cmd.InOrStdin(), s.nodePools)
	if err != nil {
		return nil, err
	}
	if len(own.NodePools) == 0 {
		return nil, fmt.Errorf("--nodepools: no NodePool of karpenter.sh/v1 in %v", s.nodePools)
	}
	cluster.NodePools = own.NodePools
	if len(own.NodeClasses) > 0 {
		cluster.NodeClasses = own.NodeClasses
	}
	return cluster, nil
}

func (s *source) cluster(cmd *cobra.Command) (*snapshot.Snapshot, error) {
	if len(s.from) > 0 {
		return readFiles(cmd.InOrStdin(), s.from)
	}
	kube, err := s.client()
	if err != nil {
		return nil, err
	}
	return snapshot.FromCluster(cmd.Context(), kube)
}

func readFiles(stdin io.Reader, names []string) (*snapshot.Snapshot, error) {
	var inputs []io.Reader
	for _, name := range names {
		if name == "-" {
			inputs = append(inputs, stdin)
			continue
		}
		file, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		inputs = append(inputs, file)
	}
	return snapshot.Read(inputs...)
}
