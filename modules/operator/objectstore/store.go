// Package objectstore keeps Kubernetes objects in memory and serves them as a controller-runtime client that can only read.
//
// It lets Karpenter core's scheduler and disruption run over a dump, without an API server. The simulating program adds and removes objects
// with Put and Remove. Core's reads return deep copies, in order of namespace and name, so that the same objects give the same decisions.
//
// A Store serves Get, and List by namespace, labels, and the fields metadata.name and spec.nodeName (of pods). A List by another field
// returns an error that names the field, and not an empty list. There are no watches, no defaulting, no validation and no resource
// versions.
//
// A Store is safe for concurrent reads. Put and Remove must not run at the same time as reads.
//
// Callers are packages whatif and explain.
//
// A Get of an object that does not exist returns the API server's "not found". Every write through the client returns ErrReadOnly.
package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrReadOnly is the error of every write through the client.
var ErrReadOnly = errors.New("objectstore: the client is read-only")

// Store is a client.Client over objects in memory.
type Store struct {
	tables map[reflect.Type]objects
	onNode map[string]objects // pods by spec.nodeName
}

var _ client.Client = (*Store)(nil)

// New returns a Store with some objects.
func New(initial ...client.Object) *Store {
	s := &Store{tables: map[reflect.Type]objects{}, onNode: map[string]objects{}}
	for _, object := range initial {
		s.Put(object)
	}
	return s
}

// Put adds an object, or replaces the object of the same kind, namespace and name. The Store keeps a copy.
func (s *Store) Put(object client.Object) {
	s.Remove(object)
	object = object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of a client.Object is one
	kind, key := reflect.TypeOf(object), client.ObjectKeyFromObject(object)
	if s.tables[kind] == nil {
		s.tables[kind] = objects{}
	}
	s.tables[kind][key] = object
	if pod, ok := object.(*corev1.Pod); ok {
		if s.onNode[pod.Spec.NodeName] == nil {
			s.onNode[pod.Spec.NodeName] = objects{}
		}
		s.onNode[pod.Spec.NodeName][key] = object
	}
}

// Remove removes the object of the same kind, namespace and name, if the Store has it.
func (s *Store) Remove(object client.Object) {
	kind, key := reflect.TypeOf(object), client.ObjectKeyFromObject(object)
	if pod, ok := s.tables[kind][key].(*corev1.Pod); ok {
		delete(s.onNode[pod.Spec.NodeName], key)
	}
	delete(s.tables[kind], key)
}

// Get copies the stored object into object.
func (s *Store) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	stored, ok := s.tables[reflect.TypeOf(object)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(object).Elem().Name()}, key.String())
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
	return nil
}

// List fills list with copies of the objects that match.
func (s *Store) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if !items.IsValid() || items.Kind() != reflect.Slice {
		return fmt.Errorf("objectstore: %T has no items", list)
	}
	element := items.Type().Elem()
	from, matches, err := s.candidates(reflect.PointerTo(element), options)
	if err != nil {
		return err
	}
	var found []client.Object
	for _, object := range from {
		if (options.Namespace == "" || object.GetNamespace() == options.Namespace) && matches(object) {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	result := reflect.MakeSlice(items.Type(), len(found), len(found))
	for i, object := range found {
		result.Index(i).Set(reflect.ValueOf(object.DeepCopyObject()).Elem())
	}
	items.Set(result)
	return nil
}

// objects are the objects of one kind.
type objects = map[client.ObjectKey]client.Object

// candidates returns the objects that may match, and a function that checks all requirements of the options except the namespace.
func (s *Store) candidates(kind reflect.Type, options *client.ListOptions) (objects, func(client.Object) bool, error) {
	from, name := s.tables[kind], ""
	if options.FieldSelector != nil {
		for _, field := range options.FieldSelector.Requirements() {
			switch {
			case field.Field == "spec.nodeName" && kind == reflect.TypeFor[*corev1.Pod]():
				from = s.onNode[field.Value]
			case field.Field == "metadata.name":
				name = field.Value
			default:
				return nil, nil, fmt.Errorf("objectstore: no index of %s by %s", kind, field.Field)
			}
		}
	}
	return from, func(object client.Object) bool {
		return (name == "" || object.GetName() == name) &&
			(options.LabelSelector == nil || options.LabelSelector.Matches(labelsOf(object)))
	}, nil
}

// Scheme returns the scheme of client-go, in which this provider and core register their kinds.
func (s *Store) Scheme() *runtime.Scheme { return scheme.Scheme }

// RESTMapper returns nil, because a Store has no routes.
func (s *Store) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor returns the kind of an object in the scheme.
func (s *Store) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, scheme.Scheme)
}

// IsObjectNamespaced returns whether an object has a namespace.
func (s *Store) IsObjectNamespaced(object runtime.Object) (bool, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false, err
	}
	return accessor.GetNamespace() != "", nil
}
