package release

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/demo"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

const (
	objectsGone = 2 * time.Minute
	poll        = 250 * time.Millisecond
)

var (
	definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	nodePools   = schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}
	nodeClasses = schema.GroupVersionKind{Group: "karpenter.k8s.linode", Version: "v1alpha1", Kind: "LinodeNodeClass"}
)

// installation is a local cluster in which the published charts are installed.
type installation struct {
	*Config
	cluster *localcluster.Cluster
	kube    client.Client
	from    func(chart string) (source, version string) // the present source of charts
}

// checkInstall installs the previous version, upgrades to the published version, scales a workload
// up and down, and uninstalls twice: the first time the CRDs stay, the second time they go.
func (c *Config) checkInstall(ctx context.Context, work string, p published, r *Result) error {
	i := &installation{Config: c, from: c.previous}
	c.step("cluster: starting one, with the charts of the version before")
	var err error
	i.cluster, err = localcluster.Start(ctx, localcluster.Options{
		Root: c.Root, Name: "release-check", NoOperator: true, Image: puller{filepath.Join(work, "pulled")}.program,
		ChartSource: func(chart string) (string, string) { return i.from(chart) },
	})
	if err != nil {
		return err
	}
	defer i.cluster.Stop(context.WithoutCancel(ctx))
	if err := i.connect(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		i.createObjects,
		func(ctx context.Context) error { return i.upgrade(ctx, p) },
		func(ctx context.Context) error { return i.scale(ctx, r) },
		i.uninstallKeeping,
		i.uninstallAll,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w; logs: %s", err, i.cluster.LogDir())
		}
	}
	return nil
}

func (i *installation) connect() (err error) {
	i.kube, err = i.cluster.Client()
	return err
}

// previous finds the chart's archive of the previous version.
func (c *Config) previous(chart string) (source, version string) {
	found, _ := filepath.Glob(filepath.Join(c.Root, "tools", "charttest", "testdata", "previous", chart+"-[0-9]*.tgz"))
	if len(found) != 1 {
		return "previous/" + chart, "" // Helm's error names it
	}
	return found[0], ""
}

func (i *installation) createObjects(ctx context.Context) error {
	for _, file := range []string{"linodenodeclass.yaml", "nodepool.yaml"} {
		if _, err := manifest.ApplyFile(ctx, i.kube, filepath.Join(i.Root, "docs", "examples", file)); err != nil {
			return err
		}
	}
	return nil
}

// upgrade installs the published charts from their registry and starts the program in the image.
func (i *installation) upgrade(ctx context.Context, p published) error {
	i.from = p.source
	source, version := p.source("karpenter")
	i.step("upgrade: %s %s", source, version)
	if err := i.install(ctx, nil); err != nil {
		return err
	}
	if n, err := i.count(ctx, nodePools); err != nil || n != 1 {
		return fmt.Errorf("after the upgrade there are %d NodePools, want 1 (%w)", n, err)
	}
	return i.runsFromImage()
}

func (i *installation) install(ctx context.Context, crdValues map[string]any) error {
	if err := i.cluster.UpgradeCRDs(ctx, crdValues); err != nil {
		return err
	}
	if err := i.cluster.Upgrade(ctx, nil); err != nil {
		return err
	}
	return i.cluster.Operator.Start(ctx)
}

// runsFromImage returns an error if the operator's process does not run the image's file. If this process runs as root, it also
// checks the user of the operator's process.
func (i *installation) runsFromImage() error {
	process, err := procfs.NewProc(i.cluster.Operator.PID())
	if err != nil {
		return err
	}
	file, err := process.Executable()
	if err != nil {
		return err
	}
	status, err := process.NewStatus()
	if err != nil {
		return err
	}
	user := status.UIDs[0]
	i.step("operator: runs %s of the image as uid %d", file[strings.LastIndex(file, "/root/")+len("/root"):], user)
	if !strings.Contains(file, "/pulled/") {
		return fmt.Errorf("the operator runs %s, which is not from the image", file)
	}
	if os.Geteuid() != 0 {
		i.step("operator: only root can start it as the image's user; this is not root")
		return nil
	}
	if user != 65532 {
		return fmt.Errorf("the operator runs as uid %d, want 65532", user)
	}
	return nil
}

func (i *installation) scale(ctx context.Context, r *Result) error {
	i.step("workload: 0 -> 5 -> 0 pods")
	result, err := demo.Run(ctx, demo.Config{
		Of: "tier=" + localcluster.Standard, Class: "linodenodeclass.yaml", NodePool: "nodepool.yaml",
		Examples: filepath.Join(i.Root, "docs", "examples"), Client: i.kube, Sim: i.cluster.Sim, Token: i.cluster.SimToken, Out: i.Out,
		Start: time.Now(),
	})
	r.Pods, r.Wanted, r.Leaked = result.Pods, result.Wanted, result.Leaked
	return err
}

// uninstallKeeping uninstalls both charts, with the default values. The CRDs must stay, and with them
// all objects. Then it installs the charts again.
func (i *installation) uninstallKeeping(ctx context.Context) error {
	i.step("uninstall: the definitions stay")
	if err := i.uninstall(ctx); err != nil {
		return err
	}
	for kind, want := range map[schema.GroupVersionKind]int{definitions: 4, nodePools: 1, nodeClasses: 1} {
		if n, err := i.count(ctx, kind); err != nil || n != want {
			return fmt.Errorf("after uninstalling with keep there are %d objects of kind %s, want %d (%w)", n, kind.Kind, want, err)
		}
	}
	return i.install(ctx, nil)
}

// uninstallAll follows docs/uninstall.md, and waits until no object and no CRD of Karpenter is left.
func (i *installation) uninstallAll(ctx context.Context) error {
	i.step("uninstall: all")
	if err := i.cluster.UpgradeCRDs(ctx, map[string]any{"keepOnUninstall": false}); err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{nodePools, nodeClasses} {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		if err := i.kube.DeleteAllOf(ctx, object); err != nil {
			return err
		}
		if err := i.gone(ctx, kind); err != nil {
			return err
		}
	}
	if err := i.uninstall(ctx); err != nil {
		return err
	}
	return i.gone(ctx, definitions)
}

func (i *installation) uninstall(ctx context.Context) error {
	i.cluster.Operator.Stop(ctx)
	for _, name := range slices.Backward(chartNames) {
		if err := charts.Remove(ctx, i.cluster.Kubeconfig, localcluster.Namespace, name, slog.DiscardHandler); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until there is no object of a kind.
func (i *installation) gone(ctx context.Context, kind schema.GroupVersionKind) error {
	err := wait.PollUntilContextTimeout(ctx, poll, objectsGone, true, func(ctx context.Context) (bool, error) {
		n, err := i.count(ctx, kind)
		return err == nil && n == 0 || meta.IsNoMatchError(err), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the last %s to go: %w", kind.Kind, err)
	}
	return nil
}

// count counts the objects of a kind. It counts only the CRDs of Karpenter.
func (i *installation) count(ctx context.Context, kind schema.GroupVersionKind) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := i.kube.List(ctx, list); err != nil {
		return 0, err
	}
	n := 0
	for _, object := range list.Items {
		if kind != definitions || strings.HasSuffix(object.Name, ".karpenter.sh") || strings.HasSuffix(object.Name, ".karpenter.k8s.linode") {
			n++
		}
	}
	return n, nil
}
