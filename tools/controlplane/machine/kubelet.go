package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cri "k8s.io/cri-client/pkg"
	fakecri "k8s.io/cri-client/pkg/fake"
	kubeadmconstants "k8s.io/kubernetes/cmd/kubeadm/app/constants"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	"k8s.io/kubernetes/pkg/kubemark"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
)

const runtimeTimeout = 15 * time.Second

// kubelet is one run of the kubelet.
type kubelet struct {
	root     root
	port     int32
	capacity capacity
	nodeIP   string
}

func kubeletCommand() *cobra.Command {
	var k kubelet
	cmd := &cobra.Command{
		Use: "kubelet [flags] -- KUBELET'S OWN FLAGS", Short: "Run the kubelet with a fake container runtime", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return k.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar((*string)(&k.root), "root", "", "the directory that stands for the machine's root")
	cmd.Flags().Int32Var(&k.port, "port", 0, "the port on loopback to serve on")
	cmd.Flags().Var(&k.capacity, "capacity", "the machine's size")
	cmd.Flags().StringVar(&k.nodeIP, "node-ip", "", "the machine's address, as in the kubelet's --node-ip; it is not an address of this host")
	return cmd
}

func (k *kubelet) run(ctx context.Context, args []string) error {
	flags, cfg, err := k.settings(ctx, args)
	if err != nil {
		return err
	}
	client, heartbeat, err := k.clients(ctx, flags, cfg)
	if err != nil {
		return err
	}
	manager, err := newContainers(k.capacity, cfg)
	if err != nil {
		return err
	}
	endpoint, err := fakecri.GenerateEndpoint()
	if err != nil {
		return err
	}
	runtime := fakecri.NewFakeRemoteRuntime()
	if err := runtime.Start(endpoint); err != nil {
		return err
	}
	defer runtime.Stop()
	service, err := cri.NewRemoteRuntimeService(ctx, endpoint, runtimeTimeout, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	machine := newMachineInfo(flags.HostnameOverride, k.capacity)
	hollow := kubemark.NewHollowKubelet(flags, cfg, client, heartbeat, machine, runtime.ImageService, service, manager)
	if hollow.KubeletDeps.TLSOptions, err = kubeletapp.InitializeTLS(ctx, flags, cfg); err != nil {
		return err
	}
	auth, reload, err := kubeletapp.BuildAuth(types.NodeName(flags.HostnameOverride), client, *cfg)
	if err != nil {
		return err
	}
	hollow.KubeletDeps.Auth = auth
	reload(ctx.Done())
	if err := publish(cfg); err != nil {
		return err
	}
	server := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *cfg}
	if err := kubeletapp.RunKubelet(ctx, server, hollow.KubeletDeps); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// settings reads the kubelet's flags and the file that --config names; flags have precedence, as in the kubelet. At last
// adapt replaces the settings that need a real machine.
func (k *kubelet) settings(ctx context.Context, args []string) (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	flags := options.NewKubeletFlags()
	cfg, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, err
	}
	if err := parse(args, flags, cfg); err != nil {
		return nil, nil, err
	}
	if flags.KubeletConfigFile != "" {
		loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, k.root.path(flags.KubeletConfigFile))
		if err != nil {
			return nil, nil, err
		}
		if cfg, err = loader.Load(ctx); err != nil {
			return nil, nil, err
		}
		if err := parse(args, flags, cfg); err != nil {
			return nil, nil, err
		}
	}
	if cfg.EvictionHard == nil {
		cfg.EvictionHard = eviction.DefaultEvictionHard
	}
	if err := options.ValidateKubeletFlags(flags); err != nil {
		return nil, nil, err
	}
	return flags, cfg, k.adapt(flags, cfg)
}

func parse(args []string, flags *options.KubeletFlags, cfg *kubeletconfig.KubeletConfiguration) error {
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.AddFlags(set)
	options.AddKubeletConfigFlags(set, cfg)
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("the kubelet's flags: %w", err)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("the kubelet's flags: %q is no flag", set.Args())
	}
	return nil
}

// adapt puts every path below the root, and switches off what needs a real machine, such as cgroups.
func (k *kubelet) adapt(flags *options.KubeletFlags, cfg *kubeletconfig.KubeletConfiguration) error {
	dir := k.root.path(kubeadmconstants.KubeletRunDirectory)
	flags.RootDirectory, flags.CertDirectory = dir, filepath.Join(dir, "pki")
	flags.KubeConfig = k.root.path(flags.KubeConfig)
	if flags.BootstrapKubeconfig != "" {
		flags.BootstrapKubeconfig = k.root.path(flags.BootstrapKubeconfig)
	}
	for _, file := range []*string{&cfg.TLSCertFile, &cfg.TLSPrivateKeyFile} {
		if *file != "" {
			*file = k.root.path(*file)
		}
	}
	cfg.PodLogsDir = k.root.path("/var/log/pods")
	cfg.StaticPodPath = k.root.path("/etc/kubernetes/manifests")
	cfg.Authentication.X509.ClientCAFile = k.root.path(cfg.Authentication.X509.ClientCAFile)
	cfg.Address, cfg.Port, cfg.ReadOnlyPort, cfg.HealthzPort = "127.0.0.1", k.port, 0, 0
	cfg.CgroupsPerQOS, cfg.CgroupRoot, cfg.KubeletCgroups, cfg.SystemCgroups = false, "", "", ""
	cfg.MaxOpenFiles = 1024
	return k.root.makeAll(kubeadmconstants.KubeletRunDirectory, "/var/log/pods", "/etc/kubernetes/manifests")
}

// clients returns the kubelet's clients of the API server. If the flags name a bootstrap kubeconfig and the node has no certificate yet,
// clients first gets a certificate with the bootstrap token.
func (k *kubelet) clients(ctx context.Context, flags *options.KubeletFlags, cfg *kubeletconfig.KubeletConfiguration) (client,
	heartbeat *kubernetes.Clientset, err error) {
	if flags.BootstrapKubeconfig != "" {
		err = bootstrap.LoadClientCert(ctx, flags.KubeConfig, flags.BootstrapKubeconfig, flags.CertDirectory,
			types.NodeName(flags.HostnameOverride))
		if err != nil {
			return nil, nil, err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", flags.KubeConfig)
	if err != nil {
		return nil, nil, err
	}
	if k.nodeIP != "" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withNodeIP{next, k.nodeIP} })
	}
	config.UserAgent, config.QPS, config.Burst = "kubelet", float32(cfg.KubeAPIQPS), int(cfg.KubeAPIBurst)
	if client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, nil, err
	}
	beat := rest.CopyConfig(config)
	beat.QPS = -1
	beat.Timeout = min(cfg.NodeStatusUpdateFrequency.Duration, time.Duration(cfg.NodeLeaseDurationSeconds)*time.Second)
	heartbeat, err = kubernetes.NewForConfig(beat)
	return client, heartbeat, err
}
