package cloudprovider_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Core lists the instance types of each NodePool five times in ten seconds, and writes an ERROR for each error.
func TestAMissingClassIsOneLineInTheLogUntilItChanges(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	p := cloudprovider.New(kube, over(&scripted{t: t}), market(t), cloudprovider.Config{Region: "us-ord"})
	ask := func(pool *karpv1.NodePool, wantAvailable bool) {
		t.Helper()
		for range 5 {
			all, err := p.GetInstanceTypes(ctx, pool)
			if err != nil || len(all) != len(somePlans) {
				t.Fatalf("%d instance types, %v", len(all), err)
			}
			for _, it := range all {
				if (len(it.Offerings.Available()) > 0) != wantAvailable {
					t.Errorf("%s: available %t", it.Name, !wantAvailable)
				}
			}
		}
	}
	expectLines := func(words ...string) {
		t.Helper()
		if len(lines) != len(words) {
			t.Fatalf("the log has %q", lines)
		}
		for i, w := range words {
			if !strings.Contains(lines[i], w) {
				t.Errorf("%q lacks %q", lines[i], w)
			}
		}
		lines = nil
	}
	pool := nodePool(nil)
	ask(pool, false)
	expectLines(`"LinodeNodeClass"="default"`)
	pool.Spec.Template.Spec.NodeClassRef.Name = "deflt"
	ask(pool, false)
	expectLines(`"LinodeNodeClass"="deflt"`)
	if err := kube.Create(t.Context(), readyClass()); err != nil {
		t.Fatal(err)
	}
	pool.Spec.Template.Spec.NodeClassRef.Name = "default"
	ask(pool, true)
	expectLines("exists now")
	if err := kube.Delete(t.Context(), readyClass()); err != nil {
		t.Fatal(err)
	}
	ask(pool, false)
	expectLines("does not exist")
}

// Core's controllers for prices and overlays list instance types for every NodePool, also for NodePools of other providers.
func TestANodePoolOfAnotherProviderHasNoInstanceTypesAndNoError(t *testing.T) {
	pool := nodePool(nil)
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	all, err := provider(t, "standard", &scripted{t: t}).GetInstanceTypes(t.Context(), pool)
	if err != nil || len(all) != 0 {
		t.Errorf("%d instance types, %v", len(all), err)
	}
}
