package localcluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// kubeletEnd is how long a kubelet may take to end.
const kubeletEnd = 3 * time.Second

// lkeKubelets are the real kubelets of LKE's workers. The cluster's authority signs their certificates without a request,
// because it is not known how LKE's nodes get their certificates.
type lkeKubelets struct {
	plane   *plane.Plane
	program string
	dir     string // of the machines' roots
	logDir  string
	slots   chan struct{} // one for each kubelet that may run
}

// realKubelets returns nil if kwok simulates all kubelets.
func (c *Cluster) realKubelets() (simulatedlke.Kubelets, error) {
	if c.opts.Kubelets <= 0 {
		return nil, nil
	}
	dir, err := c.machineRoots()
	return &lkeKubelets{
		plane: c.plane, program: c.opts.machine(), dir: dir, logDir: c.opts.logDir(), slots: make(chan struct{}, c.opts.Kubelets),
	}, err
}

// Start starts a kubelet for a node of Karpenter. It returns nil if Options.Kubelets run already: then kwok simulates the node.
// kwok simulates the user's own workers, too: the operator's Pods are there, and the probes of a real kubelet would find no
// container.
func (k *lkeKubelets) Start(e linodesim.Event) (func(context.Context), error) {
	ofKarpenter := slices.ContainsFunc(e.PoolTags, func(tag string) bool { return strings.HasPrefix(tag, "karpenter.sh/nodepool=") })
	if !ofKarpenter {
		return nil, nil
	}
	select {
	case k.slots <- struct{}{}:
	default: // all run
		return nil, nil
	}
	end, err := k.start(e)
	if err != nil {
		<-k.slots
		return nil, err
	}
	return func(ctx context.Context) { end(ctx); <-k.slots }, nil
}

func (k *lkeKubelets) start(e linodesim.Event) (func(context.Context), error) {
	const kubeconfigFile, authorityFile = "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"
	root := filepath.Join(k.dir, strconv.Itoa(e.InstanceID))
	pair, err := k.plane.Authority().Client("system:node:"+e.Name, "system:nodes")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := pki.Kubeconfig("local", k.plane.Server(), k.plane.CA(), pki.User{Name: "kubelet", Pair: pair})
	if err != nil {
		return nil, err
	}
	for file, content := range map[string][]byte{kubeconfigFile: kubeconfig, authorityFile: k.plane.CA()} {
		if err := pki.WriteFile(filepath.Join(root, file), content); err != nil {
			return nil, err
		}
	}
	process, err := simulatedboot.StartKubelet(simulatedboot.Kubelet{
		Program: k.program, Root: root, LogDir: k.logDir, Event: e,
		Flags: append([]string{
			"--kubeconfig=" + kubeconfigFile, "--hostname-override=" + e.Name, "--cloud-provider=external",
			"--client-ca-file=" + authorityFile, "--anonymous-auth=false", "--authentication-token-webhook", "--authorization-mode=Webhook",
		}, registration(e)...),
	})
	if err != nil {
		return nil, fmt.Errorf("the kubelet of %s: %w", e.Name, err)
	}
	return func(ctx context.Context) {
		process.Stop(ctx, kubeletEnd)
		_ = os.RemoveAll(root)
	}, nil
}

// registration returns the kubelet's flags for its pool: the pool's ID, the labels of the pool that a kubelet may set, all taints of the
// pool, and the memory that kubelets of the tier reserve.
func registration(e linodesim.Event) []string {
	own := bootstrap.SelfLabels(e.Labels)
	labels := []string{simulatedlke.PoolIDLabel + "=" + strconv.Itoa(e.PoolID)}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		labels = append(labels, key+"="+own[key])
	}
	flags := []string{"--node-labels=" + strings.Join(labels, ",")}
	var taints []string
	for _, t := range e.Taints {
		taints = append(taints, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	if kept := simulatedlke.Reserved(simulatedlke.Machine{MemoryMB: e.MemoryMB, Tier: e.Cluster.Tier}); kept > 0 {
		flags = append(flags, fmt.Sprintf("--kube-reserved=memory=%dKi", kept))
	}
	if len(taints) > 0 {
		flags = append(flags, "--register-with-taints="+strings.Join(taints, ","))
	}
	return flags
}
