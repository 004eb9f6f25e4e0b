package karpentercore

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Evicting returns a client that does not evict a pod for which hold returns true or an error.
//
// Core has no hook before an eviction, so the client answers the eviction of a held pod with a conflict. After a conflict core removes the
// pod from its queue and, because the pod still exists, adds it again a second later
// (pkg/controllers/node/termination/terminator/eviction.go:291). The answer 429, as for a PodDisruptionBudget, would be wrong: core would
// publish an event that a budget keeps the node.
func Evicting(next client.Client, hold func(context.Context, *corev1.Pod) (bool, error)) client.Client {
	return evicting{next, hold}
}

type evicting struct {
	client.Client
	hold func(context.Context, *corev1.Pod) (bool, error)
}

// SubResource implements client.Client.
func (e evicting) SubResource(name string) client.SubResourceClient {
	if name != "eviction" {
		return e.Client.SubResource(name)
	}
	return eviction{e.Client.SubResource(name), e.hold}
}

type eviction struct {
	client.SubResourceClient
	hold func(context.Context, *corev1.Pod) (bool, error)
}

// Create implements client.SubResourceWriter.
func (e eviction) Create(ctx context.Context, object, body client.Object, options ...client.SubResourceCreateOption) error {
	if pod, ok := object.(*corev1.Pod); ok {
		held, err := e.hold(ctx, pod)
		if err != nil {
			return err
		}
		if held {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, errHeld)
		}
	}
	return e.SubResourceClient.Create(ctx, object, body, options...)
}

type heldError struct{}

func (heldError) Error() string { return "the pod's successor is on its way" }

var errHeld error = heldError{}
