package objectstore_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
)

func pod(namespace, name, node string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

func TestListSelectsAndSorts(t *testing.T) {
	web := map[string]string{"app": "web"}
	store := objectstore.New(pod("b", "2", "n1", web), pod("a", "9", "", web), pod("b", "1", "", nil), pod("a", "1", "n1", nil))
	store.Put(pod("b", "1", "n1", nil)) // bound
	store.Remove(pod("a", "1", "", nil))
	for name, c := range map[string]struct {
		opts []client.ListOption
		want []string
	}{
		"all":           {nil, []string{"a/9", "b/1", "b/2"}},
		"in namespace":  {[]client.ListOption{client.InNamespace("b")}, []string{"b/1", "b/2"}},
		"by labels":     {[]client.ListOption{client.MatchingLabels(web)}, []string{"a/9", "b/2"}},
		"on a node":     {[]client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}}, []string{"b/1", "b/2"}},
		"on no node":    {[]client.ListOption{client.MatchingFields{"spec.nodeName": ""}}, []string{"a/9"}},
		"by name":       {[]client.ListOption{client.MatchingFields{"metadata.name": "9"}}, []string{"a/9"}},
		"on other node": {[]client.ListOption{client.MatchingFields{"spec.nodeName": "n2"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := &corev1.PodList{}
			if err := store.List(t.Context(), list, c.opts...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range list.Items {
				got = append(got, p.Namespace+"/"+p.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestAFieldWithoutIndexIsAnError(t *testing.T) {
	store := objectstore.New()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.NodeList{}} {
		if err := store.List(t.Context(), list, client.MatchingFields{"spec.unknown": "x"}); err == nil {
			t.Errorf("%T is listed by a field that has no index", list)
		}
	}
}

func TestReadsAreCopies(t *testing.T) {
	store := objectstore.New(pod("a", "1", "", map[string]string{"app": "web"}))
	read := &corev1.Pod{}
	for range 2 {
		if err := store.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "1"}, read); err != nil {
			t.Fatal(err)
		}
		if read.Labels["app"] != "web" {
			t.Fatal("a change of a copy changed the stored object")
		}
		read.Labels["app"] = "changed"
	}
	if err := store.Get(t.Context(), client.ObjectKey{Name: "1"}, read); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist: %v", err)
	}
	if err := store.Update(t.Context(), read); !errors.Is(err, objectstore.ErrReadOnly) {
		t.Errorf("a write returns %v", err)
	}
}
