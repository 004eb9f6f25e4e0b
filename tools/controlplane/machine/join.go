package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadmconstants "k8s.io/kubernetes/cmd/kubeadm/app/constants"
	"k8s.io/kubernetes/cmd/kubeadm/app/discovery"
	"k8s.io/kubernetes/cmd/kubeadm/app/features"
	kubeletphase "k8s.io/kubernetes/cmd/kubeadm/app/phases/kubelet"
	configutil "k8s.io/kubernetes/cmd/kubeadm/app/util/config"
	kubeconfigutil "k8s.io/kubernetes/cmd/kubeadm/app/util/kubeconfig"
)

// join is one run of kubeadm join.
type join struct {
	root    root
	config  string
	timeout time.Duration
}

func joinCommand() *cobra.Command {
	var j join
	cmd := &cobra.Command{
		Use: "join", Short: "Join a cluster as kubeadm does, up to the start of the kubelet", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return j.run(cmd) },
	}
	cmd.Flags().StringVar((*string)(&j.root), "root", "", "the directory that stands for the machine's root")
	cmd.Flags().StringVar(&j.config, "config", "", "kubeadm's JoinConfiguration, as a path of the machine")
	cmd.Flags().DurationVar(&j.timeout, "discovery-timeout", 0, "how long to wait for the signature of cluster-info; 0 = kubeadm's own")
	return cmd
}

func (j *join) run(cmd *cobra.Command) error {
	cfg, err := configutil.LoadOrDefaultJoinConfiguration(j.root.path(j.config), nil,
		configutil.LoadOrDefaultConfigurationOptions{SkipCRIDetect: true})
	if err != nil {
		return err
	}
	if j.timeout > 0 {
		cfg.Timeouts.Discovery = &metav1.Duration{Duration: j.timeout}
		cfg.Timeouts.KubernetesAPICall = cfg.Timeouts.Discovery
	}
	kubeadm.SetActiveTimeouts(cfg.Timeouts)
	bootstrap, err := discovery.For(nil, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), "[discovery] cluster-info is signed with the token, and its certificate authority is the pinned one")
	client, err := kubeconfigutil.ToClientSet(bootstrap)
	if err != nil {
		return err
	}
	cluster, err := configutil.FetchInitConfigurationFromCluster(client, nil, "preflight", false, false, true, false)
	if err != nil {
		return err
	}
	cluster.NodeRegistration = cfg.NodeRegistration
	if err := refuseReadyNode(cmd, client, &cfg.NodeRegistration); err != nil {
		return err
	}
	return j.write(cmd, cfg, cluster, bootstrap)
}

// refuseReadyNode is kubeadm's own check: a second machine with the name of a ready Node would take over the Node.
func refuseReadyNode(cmd *cobra.Command, client kubernetes.Interface, registration *kubeadm.NodeRegistrationOptions) error {
	name, _, err := kubeletphase.GetNodeNameAndHostname(registration)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(cmd.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot get Node %q: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return fmt.Errorf("a Node with name %q and status %q already exists in the cluster", name, corev1.NodeReady)
		}
	}
	return nil
}

// write writes the files that the kubelet needs at its start, as kubeadm's phase kubelet-start does.
func (j *join) write(cmd *cobra.Command, cfg *kubeadm.JoinConfiguration, cluster *kubeadm.InitConfiguration,
	bootstrap *clientcmdapi.Config) error {
	if err := kubeconfigutil.WriteToDisk(j.root.bootstrapKubeconfig(), bootstrap); err != nil {
		return err
	}
	authority := bootstrap.Clusters[bootstrap.Contexts[bootstrap.CurrentContext].Cluster].CertificateAuthorityData
	if err := certutil.WriteCert(j.root.path(cfg.CACertPath), authority); err != nil {
		return err
	}
	kubeletDir := j.root.path(kubeadmconstants.KubeletRunDirectory)
	if features.Enabled(cluster.FeatureGates, features.NodeLocalCRISocket) {
		own := &kubeletv1beta1.KubeletConfiguration{ContainerRuntimeEndpoint: cfg.NodeRegistration.CRISocket}
		if err := kubeletphase.WriteInstanceConfigToDisk(own, kubeletDir); err != nil {
			return err
		}
	}
	patches := ""
	if cfg.Patches != nil && cfg.Patches.Directory != "" {
		patches = j.root.path(cfg.Patches.Directory)
	}
	if err := kubeletphase.WriteConfigToDisk(&cluster.ClusterConfiguration, kubeletDir, patches, cmd.OutOrStdout()); err != nil {
		return err
	}
	return kubeletphase.WriteKubeletDynamicEnvFile(&cluster.ClusterConfiguration, &cluster.NodeRegistration, true, kubeletDir)
}

// root is the directory that stands for a machine's root directory.
type root string

// path returns the path on this host of a path of the machine.
func (r root) path(ofMachine string) string {
	return filepath.Join(string(r), filepath.Clean("/"+ofMachine))
}

func (r root) bootstrapKubeconfig() string {
	return r.path(filepath.Join(kubeadmconstants.KubernetesDir, kubeadmconstants.KubeletBootstrapKubeConfigFileName))
}

// makeAll makes directories of the machine.
func (r root) makeAll(ofMachine ...string) error {
	for _, dir := range ofMachine {
		if err := os.MkdirAll(r.path(dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}
