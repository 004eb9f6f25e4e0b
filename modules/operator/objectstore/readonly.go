package objectstore

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func labelsOf(object client.Object) labels.Set { return object.GetLabels() }

// Create returns ErrReadOnly.
func (s *Store) Create(context.Context, client.Object, ...client.CreateOption) error {
	return ErrReadOnly
}

// Delete returns ErrReadOnly.
func (s *Store) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return ErrReadOnly
}

// Update returns ErrReadOnly.
func (s *Store) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return ErrReadOnly
}

// Patch returns ErrReadOnly.
func (s *Store) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return ErrReadOnly
}

// Apply returns ErrReadOnly.
func (s *Store) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return ErrReadOnly
}

// DeleteAllOf returns ErrReadOnly.
func (s *Store) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return ErrReadOnly
}

// Status returns a writer whose writes return ErrReadOnly.
func (s *Store) Status() client.SubResourceWriter { return subresource{} }

// SubResource returns a client whose calls return ErrReadOnly.
func (s *Store) SubResource(string) client.SubResourceClient { return subresource{} }

type subresource struct{}

func (subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return ErrReadOnly
}

func (subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return ErrReadOnly
}

func (subresource) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return ErrReadOnly
}

func (subresource) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return ErrReadOnly
}

func (subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return ErrReadOnly
}
