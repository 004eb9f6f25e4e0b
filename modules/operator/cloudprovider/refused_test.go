package cloudprovider_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

func refusing() error { return refusingField("labels") }

func refusingField(field string) error {
	return &claims.Error{Kind: claims.KindInvalid, Op: "create pool", Field: field, Effect: claims.EffectNone,
		Err: errors.New("no firewall 7")}
}

// Core plans nothing for any pod while a launch is repeated: one proven refusal ends it, and the next launch follows a correction.
func TestOneProvenRefusalEndsTheLaunchesOfANodePool(t *testing.T) {
	for name, correct := range map[string]func(kube client.Client) error{
		"the class is changed": func(kube client.Client) error {
			class := &v1alpha1.LinodeNodeClass{}
			if err := kube.Get(context.Background(), client.ObjectKey{Name: "default"}, class); err != nil {
				return err
			}
			changed := readyClass()
			changed.Generation, changed.ResourceVersion = class.Generation+1, class.ResourceVersion
			return kube.Update(context.Background(), changed)
		},
		"the NodePool is changed": func(kube client.Client) error {
			pool := &karpv1.NodePool{}
			if err := kube.Get(context.Background(), client.ObjectKey{Name: "default"}, pool); err != nil {
				return err
			}
			pool.Generation++
			return kube.Update(context.Background(), pool)
		},
		"what the API refused is corrected elsewhere": func(client.Client) error {
			time.Sleep(5 * time.Minute)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told, rejected := record.NewFakeRecorder(10), 0
				pools := &scripted{t: t, claim: func(context.Context, request) (node, error) {
					rejected++
					return node{}, refusing()
				}}
				other := nodePool(nil)
				other.Name, other.UID = "healthy", "pool-2"
				kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil), other).Build()
				p := cloudprovider.New(kube, over(pools), market(t), cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
				for n := range 5 {
					if _, err := p.Create(t.Context(), numbered(n)); !core.IsInsufficientCapacityError(err) {
						t.Errorf("launch %d: %v", n, err)
					}
				}
				if rejected != 1 {
					t.Errorf("%d requests for launches that can only be refused", rejected)
				}
				if offered(t, p, "g6-standard-2") {
					t.Error("the NodePool is planned with what is refused")
				}
				if all, err := p.GetInstanceTypes(t.Context(), other); err != nil || len(all[0].Offerings.Available()) == 0 {
					t.Errorf("another NodePool of the class: %v, %v", all[0].Offerings, err)
				}
				if text := <-told.Events; !strings.Contains(text, "InvalidRequest") || !strings.Contains(text, "no firewall 7") ||
					!strings.Contains(text, "when a user changes the NodePool or its LinodeNodeClass default") {
					t.Error(text)
				}
				if err := correct(kube); err != nil {
					t.Fatal(err)
				}
				pool := &karpv1.NodePool{}
				if err := kube.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
					t.Fatal(err)
				}
				if all, err := p.GetInstanceTypes(t.Context(), pool); err != nil || len(all[0].Offerings.Available()) == 0 {
					t.Errorf("nothing is tried after the correction: %v", err)
				}
			})
		})
	}
}

// A field of the class was refused: launches of all its NodePools are refused at once. Otherwise each NodePool would meet the refusal in
// turn, and core plans nothing in that time.
func TestARefusedFieldOfAClassEndsTheLaunchesOfAllItsNodePools(t *testing.T) {
	rejected := 0
	pools := &scripted{t: t, claim: func(context.Context, request) (node, error) {
		rejected++
		return node{}, refusingField("firewall_id")
	}}
	second, elsewhere := nodePool(nil), nodePool(nil)
	second.Name, second.UID, elsewhere.Name, elsewhere.UID = "second", "pool-2", "elsewhere", "pool-3"
	healthy := readyClass(func(c *v1alpha1.LinodeNodeClass) { c.Name, c.UID = "healthy", "class-2" })
	elsewhere.Spec.Template.Spec.NodeClassRef.Name = "healthy"
	p := provider(t, "standard", pools, readyClass(), healthy, nodePool(nil), second, elsewhere)
	for _, pool := range []string{"default", "second"} {
		claim := nodeClaim(func(c *karpv1.NodeClaim) { c.Labels[karpv1.NodePoolLabelKey] = pool })
		if _, err := p.Create(t.Context(), claim); !core.IsInsufficientCapacityError(err) {
			t.Errorf("%s: %v", pool, err)
		}
	}
	if rejected != 1 {
		t.Errorf("%d requests for two NodePools of a class that is refused", rejected)
	}
	if why := p.Unbuyable(t.Context(), second); !strings.Contains(why, "no firewall 7") {
		t.Errorf("the second NodePool's condition lacks the reason: %q", why)
	}
	if why := p.ClassRefused(readyClass()); !strings.Contains(why, "no firewall 7") {
		t.Errorf("the class's condition lacks the reason: %q", why)
	}
	if why := p.ClassRefused(healthy); why != "" {
		t.Errorf("the other class: %s", why)
	}
	if why := p.Unbuyable(t.Context(), elsewhere); why != "" {
		t.Errorf("a NodePool of another class: %s", why)
	}
}

func TestFullPlacementGroupsKeepDriftFromGoingOn(t *testing.T) {
	rejected := 0
	pools := &scripted{t: t, claim: func(context.Context, request) (node, error) {
		rejected++
		return node{}, &claims.Error{Kind: claims.KindInvalid, Field: claims.FieldPlacementGroups, Effect: claims.EffectNone,
			Err: errors.New("full")}
	}}
	second, other := nodePool(nil), nodePool(nil)
	second.Name, second.UID, other.Name, other.UID = "second", "pool-2", "other", "pool-3"
	other.Spec.Template.Spec.NodeClassRef.Name = "absent"
	p := provider(t, "standard", pools, readyClass(), nodePool(nil), second)
	if p.Limited(t.Context(), nodePool(nil)) {
		t.Error("limited before any launch")
	}
	for n := range 5 {
		if _, err := p.Create(t.Context(), numbered(n)); !core.IsInsufficientCapacityError(err) {
			t.Errorf("launch %d: %v", n, err)
		}
	}
	if rejected != 1 {
		t.Errorf("%d launches into groups that are full", rejected)
	}
	for pool, want := range map[*karpv1.NodePool]bool{nodePool(nil): true, second: true, other: false} {
		if p.Limited(t.Context(), pool) != want {
			t.Errorf("NodePool %s: full groups show in DriftStalled: %t", pool.Name, !want)
		}
	}
}
