package charttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

// bare is an API server whose charts the tests install, with a client.
type bare struct {
	client.Client
	config     *rest.Config
	kubeconfig string
}

// shared is the API server of the tests that install charts, one after another. A start computes for as long as such a test.
var shared = sync.OnceValues(func() (*envtest.Environment, error) {
	assets, err := controlplane.Assets("../..")
	if err != nil {
		return nil, err
	}
	server := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience}
	stopShared = server.Stop
	_, err = server.Start()
	return server, err
})

var stopShared = func() error { return nil } // called at the end of all tests

func onShared(t *testing.T) bare {
	t.Helper()
	needServer(t)
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	b := bare{config: server.Config, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := os.WriteFile(b.kubeconfig, server.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	b.config.WarningHandler = rest.NoWarnings{} // of old kinds, when all are listed
	if b.Client, err = client.New(b.config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := waitForNamespace(b.Client, namespace); err != nil {
		t.Fatal(err)
	}
	return b
}

// withDefinitions is that server with the custom resources. At the end of the test the chart karpenter is uninstalled, and its custom
// resources are deleted; the definitions stay for the next test.
func withDefinitions(t *testing.T) bare {
	t.Helper()
	b := onShared(t)
	if !b.defined(t) {
		b.install(t, "karpenter-crd", "../../charts/karpenter-crd", nil, charts.ResetValues)
	}
	b.served(t)
	enforced(t, b) // and no policy of the test before
	t.Cleanup(func() {
		ctx := context.Background()
		errs := []error{charts.Remove(ctx, b.kubeconfig, namespace, "karpenter", helmLog)}
		for _, kind := range []string{"NodeClaim", "NodePool"} {
			errs = append(errs, b.DeleteAllOf(ctx, object(kind, "karpenter.sh/v1", "", nil)))
		}
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
	return b
}

// withoutDefinitions is that server as a cluster is before the charts are installed.
func withoutDefinitions(t *testing.T) bare {
	t.Helper()
	b := onShared(t)
	if b.defined(t) {
		b.install(t, "karpenter-crd", "../../charts/karpenter-crd", map[string]any{"keepOnUninstall": false}, charts.ResetValues)
		b.uninstall(t, "karpenter-crd")
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return !b.defined(t), nil
	}); err != nil {
		t.Fatalf("the definitions stay: %v", err)
	}
	return b
}

// defined reports whether there is a definition of the chart karpenter-crd.
func (b bare) defined(t *testing.T) bool {
	t.Helper()
	for _, definition := range crds.All() {
		err := b.Get(t.Context(), client.ObjectKey{Name: definition.Name},
			object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "", nil))
		if err == nil {
			return true
		}
		if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	return false
}

const namespace = "kube-system"

var helmLog = slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})

func (b bare) install(t *testing.T, name, chart string, values map[string]any, keep charts.Keep) {
	t.Helper()
	release := charts.Release{Name: name, Namespace: namespace, Chart: chart, Values: values, Keep: keep}
	if err := charts.Apply(t.Context(), b.kubeconfig, release, helmLog); err != nil {
		t.Fatal(err)
	}
}

func (b bare) uninstall(t *testing.T, name string) {
	t.Helper()
	if err := charts.Remove(t.Context(), b.kubeconfig, namespace, name, helmLog); err != nil {
		t.Fatal(err)
	}
}

// everything names all objects of the cluster but events, which expire, and the API server's own Lease.
func (b bare) everything(ctx context.Context) ([]string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(b.config)
	if err != nil {
		return nil, err
	}
	resources, err := d.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	reader, err := dynamic.NewForConfig(b.config)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, group := range resources {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if resource.Name == "events" || resource.Name == "componentstatuses" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			list, err := reader.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", resource.Name, err)
			}
			for _, object := range list.Items {
				if name := object.GetName(); !strings.HasPrefix(name, "apiserver-") {
					all = append(all, fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), name))
				}
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// settledEverything waits until all kinds can be listed, and what an API server makes after its start is there.
func (b bare) settledEverything(t *testing.T) []string {
	t.Helper()
	var last []string
	same := 0
	err := wait.PollUntilContextTimeout(t.Context(), 300*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := b.everything(ctx)
		if err != nil {
			last = nil
			return false, nil //nolint:nilerr // a kind that is new cannot be listed at once
		}
		if same++; !reflect.DeepEqual(now, last) {
			last, same = now, 0
		}
		return same >= 4, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// previous is the chart's archive of the version before this one.
func previous(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob("testdata/previous/" + name + "-[0-9]*.tgz")
	if err != nil || len(files) != 1 {
		t.Fatalf("the previous chart %s: %v, %v", name, files, err)
	}
	return files[0]
}

func object(kind, group, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group, "kind": kind, "spec": spec}}
	u.SetName(name)
	return u
}

// usersObjects returns objects that users have in a cluster where the charts are installed.
func usersObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object("LinodeNodeClass", "karpenter.k8s.linode/v1alpha1", "default", map[string]any{}),
		object("NodePool", "karpenter.sh/v1", "default", map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": "kubernetes.io/os", "operator": "In", "values": []any{"linux"}}},
		}}}),
	}
}

// The previous charts are upgraded to these, in each way in which Helm can treat values, and uninstalled: nothing of
// people's is lost on the way, and nothing of ours is there afterwards.
func TestUpgradeAndUninstall(t *testing.T) {
	b := withoutDefinitions(t)
	before := b.settledEverything(t)
	values := map[string]any{"apiToken": "not-a-token", "replicas": 3, "settings": map[string]any{"clusterName": "my-cluster"}}
	for _, test := range []struct {
		name   string
		values map[string]any
		keep   charts.Keep
	}{
		{"values given again", values, charts.ResetValues},
		{"--reuse-values", nil, charts.ReuseValues},
		{"--reuse-values, and a new feature", map[string]any{"networkPolicy": map[string]any{"enabled": true}}, charts.ReuseValues},
		{"--reset-then-reuse-values", nil, charts.ResetThenReuseValues},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.install(t, "karpenter-crd", previous(t, "karpenter-crd"), nil, charts.ResetValues)
			b.install(t, "karpenter", previous(t, "karpenter"), values, charts.ResetValues)
			old := b.deployment(t)
			users := usersObjects()
			for _, o := range users {
				if err := b.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			b.lead(t)

			b.install(t, "karpenter-crd", "../../charts/karpenter-crd", map[string]any{"keepOnUninstall": false}, charts.ResetValues)
			b.install(t, "karpenter", "../../charts/karpenter", test.values, test.keep)
			b.checkUpgraded(t, old, users)

			for _, o := range users {
				if err := b.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			// An API server that has not served a kind may try to list it in vain when the definition goes
			// ("storage is (re)initializing"), at growing intervals.
			b.settledEverything(t)
			b.uninstall(t, "karpenter")
			b.uninstall(t, "karpenter-crd")
			b.checkNothingLeft(t, before)
		})
	}
}

func (b bare) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "karpenter"}, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// lead makes the Lease that the controllers make.
func (b bare) lead(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "karpenter-leader-election"}}
	if err := b.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

func (b bare) checkUpgraded(t *testing.T, old *appsv1.Deployment, users []*unstructured.Unstructured) {
	t.Helper()
	d := b.deployment(t)
	if d.UID != old.UID || d.Generation == old.Generation {
		t.Error("the Deployment was not upgraded but made anew, or left as it was")
	}
	if want := load(t, "karpenter").Metadata.AppVersion; !strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":"+want) {
		t.Errorf("image %s, expected version %s", d.Spec.Template.Spec.Containers[0].Image, want)
	}
	if *d.Spec.Replicas != 3 || !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Env,
		func(v corev1.EnvVar) bool { return v.Name == "CLUSTER_NAME" && v.Value == "my-cluster" }) {
		t.Errorf("values were lost: %d replicas, %v", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Env)
	}
	for _, o := range users {
		now := o.DeepCopy()
		if err := b.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil || now.GetUID() != o.GetUID() ||
			now.GetDeletionTimestamp() != nil {
			t.Errorf("%s %s was lost: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// checkNothingLeft waits until the cluster is in its state before the installation of the charts: custom resource definitions go a moment
// later.
func (b bare) checkNothingLeft(t *testing.T, before []string) {
	t.Helper()
	var left []string
	err := wait.PollUntilContextTimeout(t.Context(), 300*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := b.everything(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // a definition that is going is listed by discovery and cannot be read
		}
		left = slices.DeleteFunc(now, func(name string) bool { return slices.Contains(before, name) })
		return len(left) == 0, nil
	})
	if err != nil {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
