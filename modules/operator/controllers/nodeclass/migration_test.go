package nodeclass_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

var errKilled = errors.New("killed")

// killed is a client whose process ends at the n-th write, before it or, with late, after it and before the answer.
func killed(n int, late bool) (client.Client, *int) {
	writes := 0
	strike := func(write func() error) error {
		writes++
		switch {
		case writes > n:
			return errKilled
		case writes == n:
			if late {
				_ = write()
			}
			return errKilled
		}
		return write()
	}
	return interceptor.NewClient(cached, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return strike(func() error { return c.Patch(ctx, object, patch, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption) error {
			return strike(func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) })
		},
	}), &writes
}

// A new definition of the hash replaces no node, wherever the process is killed on the way, and however its
// NodeClaims came to be.
func TestMigrationSurvivesAKillAtAnyWrite(t *testing.T) {
	const all = 5 // three NodeClaims, the class, its status
	for _, late := range []bool{false, true} {
		for n := 1; n <= all+1; n++ {
			t.Run(fmt.Sprintf("write %d, late %t", n, late), func(t *testing.T) {
				m := newMigration(t, fmt.Sprintf("migration-%d-%t", n, late))
				c, writes := killed(n, late)
				_, err := start(c, nodeclass.Config{}).reconcile(t.Context(), m.class.Name)
				if (err != nil) != (n <= all) {
					t.Errorf("the first process ended with %v after %d writes", err, *writes)
				}
				m.expectNoDrift(t)

				m.class = start(cached, nodeclass.Config{}).until(t, m.class.Name, "all is migrated", func(class *v1alpha1.LinodeNodeClass) bool {
					return class.Annotations[v1alpha1.AnnotationHashVersion] == v1alpha1.HashVersion && len(class.Status.Conditions) > 0
				})
				m.expectNoDrift(t)
				hash := m.class.Hash(v1alpha1.ModeLKE)
				for name, want := range map[string]string{"plain": hash, "alpha": hash, "drifted": "old", "unlaunched": ""} {
					claim := m.stored(t, name)
					version := v1alpha1.HashVersion
					if name == "unlaunched" {
						version = ""
					}
					if got := claim.Annotations[v1alpha1.AnnotationHash]; got != want || claim.Annotations[v1alpha1.AnnotationHashVersion] != version {
						t.Errorf("%s has the annotations %v, expected hash %q of version %q", name, claim.Annotations, want, version)
					}
				}
			})
		}
	}
}

// A replica of an older release that finishes a launch late, and a class whose annotations were lost, leave NodeClaims of another version
// with a class that needs no migration.
func TestMigrationFindsStragglers(t *testing.T) {
	m := newMigration(t, "stragglers")
	p := start(cached, nodeclass.Config{})
	migrated := func(name string) func(*v1alpha1.LinodeNodeClass) bool {
		return func(class *v1alpha1.LinodeNodeClass) bool {
			return m.stored(t, name).Annotations[v1alpha1.AnnotationHash] == class.Hash(v1alpha1.ModeLKE)
		}
	}
	p.until(t, m.class.Name, "all is migrated", migrated("plain"))
	late := claimOf(m.class.Name, m.class.Name+"-late",
		map[string]string{v1alpha1.AnnotationHash: "old", v1alpha1.AnnotationHashVersion: "v1"})
	create(t, late)
	m.claims["late"] = late
	p.until(t, m.class.Name, "the late one is migrated", migrated("late"))
}

type migration struct {
	class  *v1alpha1.LinodeNodeClass
	claims map[string]*karpv1.NodeClaim
}

// newMigration stores a class and NodeClaims as an older release has left them.
func newMigration(t *testing.T, name string) migration {
	t.Helper()
	old := map[string]string{v1alpha1.AnnotationHash: "old", v1alpha1.AnnotationHashVersion: "v1"}
	m := migration{
		class:  &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: maps.Clone(old)}},
		claims: map[string]*karpv1.NodeClaim{},
	}
	create(t, m.class)
	for suffix, annotations := range map[string]map[string]string{"plain": old, "drifted": old, "alpha": nil, "unlaunched": nil} {
		claim := claimOf(name, name+"-"+suffix, maps.Clone(annotations))
		create(t, claim)
		if suffix != "unlaunched" {
			claim.Status.ProviderID = "linode://" + fmt.Sprint(len(m.claims)+1)
		}
		if suffix == "drifted" {
			claim.StatusConditions().SetTrue(karpv1.ConditionTypeDrifted)
		}
		if err := kube.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		m.claims[suffix] = claim
		inCache(t, claim)
	}
	inCache(t, m.class)
	return m
}

func (m migration) stored(t *testing.T, name string) *karpv1.NodeClaim {
	t.Helper()
	claim := &karpv1.NodeClaim{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m.claims[name]), claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// expectNoDrift compares as the CloudProvider does: hashes of one version that differ are drift. The NodeClaim that was
// drifted before stays so.
func (m migration) expectNoDrift(t *testing.T) {
	t.Helper()
	class := &v1alpha1.LinodeNodeClass{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m.class), class); err != nil {
		t.Fatal(err)
	}
	for name := range m.claims {
		made, is := m.stored(t, name).Annotations, class.Annotations
		drifted := made[v1alpha1.AnnotationHash] != "" && made[v1alpha1.AnnotationHashVersion] == is[v1alpha1.AnnotationHashVersion] &&
			made[v1alpha1.AnnotationHash] != is[v1alpha1.AnnotationHash]
		if drifted && name != "drifted" {
			t.Errorf("%s drifts: %v, and the class has %v", name, made, is)
		}
	}
}
