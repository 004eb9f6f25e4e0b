package e2e_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

// TestReinstall uninstalls the charts while there are nodes, which the documentation advises against.
func TestReinstall(t *testing.T) {
	t.Parallel()
	e := start(t, "reinstall", "standard", nil)
	e.scenario(t, "upgraded from the release before, rolled back and uninstalled with nodes", rolledBack)
	e.scenario(t, "uninstalled with nodes and installed again", reinstalled)
	e.scenario(t, "the definitions uninstalled with nodes", definitionsUninstalled)
}

// threeNodes makes three nodes with a pod each.
func threeNodes(t *testing.T, e *environment) {
	t.Helper()
	e.crowd(t, "three", 3)
	e.settled(t, "three", 3)
}

// owners are the NodeClaims with their instances.
func (e *environment) owners(t *testing.T) map[string]string {
	t.Helper()
	owners := map[string]string{}
	for _, claim := range e.nodeClaims(t.Context(), NewWithT(t)) {
		owners[string(claim.UID)] = claim.Status.ProviderID
	}
	return owners
}

// uninstall ends the operator and removes its release, as `helm uninstall` does.
func (e *environment) uninstall(t *testing.T) {
	t.Helper()
	e.Operator.Stop(t.Context())
	e.removeRelease(t, "karpenter")
}

func (e *environment) removeRelease(t *testing.T, release string) {
	t.Helper()
	NewWithT(t).Expect(charts.Remove(t.Context(), e.Kubeconfig, localcluster.Namespace, release, slog.DiscardHandler)).To(Succeed())
}

// reinstalled: without the operator the nodes, their pods and their owners stay.
// The operator that comes again, with its token in a file this time, takes up all
// three and buys none: a fourth pod gets a fourth node.
func reinstalled(t *testing.T, e *environment) {
	threeNodes(t, e)
	before, made := e.owners(t), e.made()
	e.uninstall(t)
	g, ctx := NewWithT(t), t.Context()
	lease := client.ObjectKey{Namespace: localcluster.Namespace, Name: "karpenter-leader-election"}
	g.Expect(apierrors.IsNotFound(e.kube.Get(ctx, lease, &coordinationv1.Lease{}))).To(BeTrue(), "the Lease is gone")
	e.settled(t, "three", 3)
	g.Expect(e.owners(t)).To(Equal(before))
	e.oneToOne(t)

	file := filepath.Join(t.TempDir(), "token")
	g.Expect(os.WriteFile(file, []byte(e.SimToken+"\n"), 0o600)).To(Succeed())
	g.Expect(e.Upgrade(ctx, map[string]any{"apiToken": "", "apiTokenFile": file})).To(Succeed())
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	e.scale(t, "three", 4)
	e.settled(t, "three", 4)
	after := e.owners(t)
	for claim, instance := range before {
		g.Expect(after).To(HaveKeyWithValue(claim, instance))
	}
	if n := e.oneToOne(t); n != 4 || e.made() != made+1 {
		t.Errorf("%d NodeClaims and %d new instances, want 4 and 1", n, e.made()-made)
	}
}

// rolledBack upgrades from the charts of the release before, goes back with `helm rollback`, and uninstalls, with nodes all the time:
// each step keeps every node with its owner and its pod, and buys what a further pod needs, once. The program is today's in each step,
// started as the installed chart has it; the definitions are not rolled back.
func rolledBack(t *testing.T, e *environment) {
	g, ctx := NewWithT(t), t.Context()
	e.Operator.Stop(ctx)
	e.installChart(t, "karpenter-crd", previousChart(t, "karpenter-crd"))
	e.installChart(t, "karpenter", previousChart(t, "karpenter"))
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	threeNodes(t, e)
	made := e.made()
	replicas := 3
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the upgrade", func() {
			e.installChart(t, "karpenter-crd", filepath.Join(repositoryRoot(t), "charts", "karpenter-crd"))
			e.installChart(t, "karpenter", filepath.Join(repositoryRoot(t), "charts", "karpenter"))
		}},
		{"the rollback", func() {
			g.Expect(charts.Rollback(ctx, e.Kubeconfig, localcluster.Namespace, "karpenter", slog.DiscardHandler)).To(Succeed())
		}},
	} {
		before := e.owners(t)
		e.Operator.Stop(ctx)
		step.do()
		g.Expect(e.Operator.Start(ctx)).To(Succeed())
		replicas++
		e.scale(t, "three", replicas)
		e.settled(t, "three", replicas)
		after := e.owners(t)
		for claim, instance := range before {
			g.Expect(after).To(HaveKeyWithValue(claim, instance), "a node from before %s", step.name)
		}
		if n := e.oneToOne(t); n != replicas || e.made() != made+replicas-3 {
			t.Errorf("after %s: %d NodeClaims and %d new instances, want %d and %d", step.name, n, e.made()-made, replicas, replicas-3)
		}
	}
	before := e.owners(t)
	e.uninstall(t)
	e.settled(t, "three", replicas)
	g.Expect(e.owners(t)).To(Equal(before), "after the release is uninstalled")
	e.oneToOne(t)
	g.Expect(e.Upgrade(ctx, nil)).To(Succeed())
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
}

// previousChart is the chart's archive of the release before this one.
func previousChart(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repositoryRoot(t), "tools/charttest/testdata/previous", name+"-[0-9]*.tgz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the previous chart %s: %v, %v", name, files, err)
	}
	return files[0]
}

// installChart upgrades a release to a chart, with the values that it has.
func (e *environment) installChart(t *testing.T, release, chart string) {
	t.Helper()
	NewWithT(t).Expect(charts.Apply(t.Context(), e.Kubeconfig, charts.Release{
		Name: release, Namespace: localcluster.Namespace, Chart: chart, Keep: charts.ResetThenReuseValues,
	}, slog.DiscardHandler)).To(Succeed())
}

// definitionsUninstalled is the wrong order: the operator goes first, and then the
// definitions, with nodes there. The NodeClaims' finalizer keeps them, and so every
// node has its owner, until the charts are installed again: then they are drained
// and removed, as uninstalling the definitions requires.
func definitionsUninstalled(t *testing.T, e *environment) {
	threeNodes(t, e)
	e.uninstall(t)
	e.installDefinitions(t, "keepOnUninstall", false)
	e.removeRelease(t, "karpenter-crd")
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func(g Gomega) {
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.DeletionTimestamp).NotTo(BeNil())
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	if n := e.oneToOne(t); n != 3 {
		t.Errorf("%d NodeClaims, want 3", n)
	}

	e.installDefinitions(t)
	g.Expect(e.Upgrade(ctx, nil)).To(Succeed())
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	g.Eventually(ctx, func() int { return len(e.ourInstances()) }).WithTimeout(patience).WithPolling(interval).Should(BeZero())
	// Definitions that were being deleted go now, and have to be installed again.
	g.Eventually(ctx, func(g Gomega) { g.Expect(e.definitionsGoing(t)).To(BeEmpty()) }).
		WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.installDefinitions(t)
	e.Operator.Stop(ctx)
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	threeNodes(t, e)
}

// installDefinitions installs the chart of the definitions, with one value if it is given.
func (e *environment) installDefinitions(t *testing.T, value ...any) {
	t.Helper()
	values := map[string]any{}
	if len(value) == 2 {
		values[value[0].(string)] = value[1]
	}
	release := charts.Release{Name: "karpenter-crd", Namespace: localcluster.Namespace,
		Chart: filepath.Join(repositoryRoot(t), "charts", "karpenter-crd"), Values: values}
	NewWithT(t).Expect(charts.Apply(t.Context(), e.Kubeconfig, release, slog.DiscardHandler)).To(Succeed())
}

// definitions lists the custom resource definitions of the chart.
func (e *environment) definitions(t *testing.T) []string {
	return e.definitionsThat(t, func(metav1.PartialObjectMetadata) bool { return true })
}

// definitionsGoing lists the definitions that are being deleted.
func (e *environment) definitionsGoing(t *testing.T) []string {
	return e.definitionsThat(t, func(d metav1.PartialObjectMetadata) bool { return d.DeletionTimestamp != nil })
}

func (e *environment) definitionsThat(t *testing.T, are func(metav1.PartialObjectMetadata) bool) (names []string) {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	NewWithT(t).Expect(e.kube.List(t.Context(), list)).To(Succeed())
	for _, definition := range list.Items {
		if definition.Annotations["meta.helm.sh/release-name"] == "karpenter-crd" && are(definition) {
			names = append(names, definition.Name)
		}
	}
	return names
}
