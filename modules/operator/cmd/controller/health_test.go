package main

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// published records events.
type published struct{ list []events.Event }

func (p *published) Publish(list ...events.Event) { p.list = append(p.list, list...) }

func nodePool(name, group, kind string) *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: group, Kind: kind, Name: "default"}
	return pool
}

// A token that is refused makes the process not ready, and the NodePools have an event, once for each time.
func TestARefusedTokenIsAnnouncedOnTheNodePools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := v1alpha1.GroupVersionKind
		kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nodePool("ours", kind.Group, kind.Kind),
			nodePool("theirs", "karpenter.k8s.aws", "EC2NodeClass")).Build()
		events := &published{}
		health := &apiHealth{onRefused: announceRefusal(t.Context(), kube, events)}
		for _, call := range []struct {
			route  string
			status int
			events int
			ready  bool
		}{
			{"/linode/instances", http.StatusOK, 0, true},
			{"/linode/instances", http.StatusForbidden, 0, true},
			{"/linode/instances", http.StatusUnauthorized, 1, false},
			{"/lke/clusters/{clusterId}/pools", http.StatusUnauthorized, 1, false},
			{"/linode/types", http.StatusOK, 1, false},
			{"/linode/instances", http.StatusOK, 1, true},
			{"/linode/instances", http.StatusUnauthorized, 2, false},
		} {
			health.observe(linode.Call{Route: call.route, Status: call.status})
			synctest.Wait()
			if err := health.check(nil); len(events.list) != call.events || (err == nil) != call.ready {
				t.Errorf("after %d of %s: %d events, %v", call.status, call.route, len(events.list), err)
			}
		}
		for _, event := range events.list {
			if name := event.InvolvedObject.(*karpv1.NodePool).Name; name != "ours" || event.Reason != EventTokenRefused ||
				!strings.Contains(event.Message, "LINODE_TOKEN") {
				t.Errorf("event %+v", event)
			}
		}
	})
}
