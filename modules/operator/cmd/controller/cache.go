package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// trimCache keeps out of the cache what nobody here reads of the kinds of which there are many: who wrote which field,
// and which images a Node has. Core copies all Nodes and NodeClaims, and many Pods, several times in every look for nodes
// that could go. What is not in the cache is not in the patches that are made from it, either. It is called before the
// cache starts.
func trimCache(ctx context.Context, objects cache.Cache) error {
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.Node{}, &karpv1.NodeClaim{}} {
		informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		// client-go's informer has it; the interface that controller-runtime shows of it has not.
		transformed, ok := informer.(interface {
			SetTransform(handler toolscache.TransformFunc) error
		})
		if !ok {
			return fmt.Errorf("watching %T: the informer %T cannot leave anything out", object, informer)
		}
		if err := transformed.SetTransform(trim); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return nil
}

// trim is what becomes of an object before it is cached.
func trim(in any) (any, error) {
	out, err := cache.TransformStripManagedFields()(in)
	if node, is := out.(*corev1.Node); is {
		node.Status.Images = nil
	}
	return out, err
}
