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
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/bootplayer"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/lkeplayer"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// kubeletEnd is how long a kubelet may take to end.
const kubeletEnd = 3 * time.Second

// lkeKubelets are the real kubelets of LKE's workers. Their certificates are signed at once: how LKE's nodes get theirs is
// not known.
type lkeKubelets struct {
	plane  *plane.Plane
	bin    string
	dir    string // of the machines' roots; short, for the sockets below
	logDir string

	mu   sync.Mutex
	left int // how many more may run
}

// realKubelets returns nil where kwok plays all.
func (c *Cluster) realKubelets() (lkeplayer.Kubelets, error) {
	if c.opts.Kubelets == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "workers-")
	if err != nil {
		return nil, err
	}
	c.onStop(func(context.Context) { _ = os.RemoveAll(dir) })
	return &lkeKubelets{plane: c.plane, bin: c.bin(), dir: dir, logDir: c.opts.logDir(), left: c.opts.Kubelets}, nil
}

// Start starts a kubelet while there are some left. The user's own workers are kwok's: the operator's Pods are there, whose
// probes would find no container.
func (k *lkeKubelets) Start(e world.Event) (func(context.Context), error) {
	ofKarpenter := slices.ContainsFunc(e.PoolTags, func(tag string) bool { return strings.HasPrefix(tag, "karpenter.sh/nodepool=") })
	if !ofKarpenter || !k.take() {
		return nil, nil
	}
	end, err := k.start(e)
	if err != nil {
		k.giveBack()
		return nil, err
	}
	return func(ctx context.Context) { end(ctx); k.giveBack() }, nil
}

func (k *lkeKubelets) take() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		return false
	}
	k.left--
	return true
}

func (k *lkeKubelets) giveBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left++
}

func (k *lkeKubelets) start(e world.Event) (func(context.Context), error) {
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
	ports, err := plane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	process, err := bootplayer.StartKubelet(bootplayer.Kubelet{
		Program: filepath.Join(k.bin, controlplane.Machine), Name: e.Name, Root: root, Port: ports[0], Event: e,
		LogFile: filepath.Join(k.logDir, "kubelet-"+e.Name+".log"),
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

// registration are the flags with what the pool gives its nodes: labels that a kubelet may set, and all taints.
func registration(e world.Event) []string {
	own := bootstrap.SelfLabels(e.Labels)
	labels := []string{lkeplayer.PoolIDLabel + "=" + strconv.Itoa(e.PoolID)}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		labels = append(labels, key+"="+own[key])
	}
	flags := []string{"--node-labels=" + strings.Join(labels, ",")}
	var taints []string
	for _, t := range e.Taints {
		taints = append(taints, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	if len(taints) > 0 {
		flags = append(flags, "--register-with-taints="+strings.Join(taints, ","))
	}
	return flags
}
