package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/clusterinfo"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/bootstraptoken/node"
	kubeletphase "k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	"k8s.io/kubernetes/cmd/kubeadm/app/phases/uploadconfig"
	configutil "k8s.io/kubernetes/cmd/kubeadm/app/util/config"
)

func initCommand() *cobra.Command {
	var kubeconfig, config string
	cmd := &cobra.Command{
		Use: "init", Short: "Create the ConfigMaps and the rights of joining nodes that kubeadm init creates", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := configutil.LoadInitConfigurationFromFile(config, configutil.LoadOrDefaultConfigurationOptions{SkipCRIDetect: true})
			if err != nil {
				return err
			}
			admin, err := clientcmd.LoadFromFile(kubeconfig)
			if err != nil {
				return err
			}
			rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(rest)
			if err != nil {
				return err
			}
			return upload(cfg, admin, client)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "a cluster administrator's kubeconfig")
	cmd.Flags().StringVar(&config, "config", "", "kubeadm's InitConfiguration and ClusterConfiguration")
	return cmd
}

// upload runs kubeadm's phases upload-config and bootstrap-token; it makes no token.
func upload(cfg *kubeadm.InitConfiguration, admin *clientcmdapi.Config, client kubernetes.Interface) error {
	for _, phase := range []func() error{
		func() error { return uploadconfig.UploadConfiguration(cfg, client) },
		func() error { return kubeletphase.CreateConfigMap(&cfg.ClusterConfiguration, client) },
		func() error { return node.AllowBootstrapTokensToGetNodes(client) },
		func() error { return node.AllowBootstrapTokensToPostCSRs(client) },
		func() error { return node.AutoApproveNodeBootstrapTokens(client) },
		func() error { return node.AutoApproveNodeCertificateRotation(client) },
		func() error { return node.AllowAPIServerToAccessKubeletAPI(client) },
		func() error { return clusterinfo.CreateBootstrapConfigMapIfNotExists(client, admin) },
		func() error { return clusterinfo.CreateClusterInfoRBACRules(client) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}
