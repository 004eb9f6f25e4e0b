package karpentercore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Index adds the indexes with which core's controllers and the provider's own controllers look up objects. The CRDs of the kinds must exist
// in the cluster.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.object, index.field, index.value); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.object, index.field, err)
		}
	}
	return nil
}

type index struct {
	object client.Object
	field  string
	value  client.IndexerFunc
}

var indexes = []index{
	by("spec.nodeName", func(o *corev1.Pod) string { return o.Spec.NodeName }),
	by("spec.providerID", func(o *corev1.Node) string { return o.Spec.ProviderID }),
	by("spec.nodeName", func(o *storagev1.VolumeAttachment) string { return o.Spec.NodeName }),
	by("status.providerID", func(o *karpv1.NodeClaim) string { return o.Status.ProviderID }),
	by("spec.nodeClassRef.group", func(o *karpv1.NodeClaim) string { return o.Spec.NodeClassRef.Group }),
	by("spec.nodeClassRef.kind", func(o *karpv1.NodeClaim) string { return o.Spec.NodeClassRef.Kind }),
	by("spec.nodeClassRef.name", func(o *karpv1.NodeClaim) string { return o.Spec.NodeClassRef.Name }),
	by("spec.template.spec.nodeClassRef.group", func(o *karpv1.NodePool) string { return o.Spec.Template.Spec.NodeClassRef.Group }),
	by("spec.template.spec.nodeClassRef.kind", func(o *karpv1.NodePool) string { return o.Spec.Template.Spec.NodeClassRef.Kind }),
	by("spec.template.spec.nodeClassRef.name", func(o *karpv1.NodePool) string { return o.Spec.Template.Spec.NodeClassRef.Name }),
}

func by[T any, O interface {
	*T
	client.Object
}](field string, value func(O) string) index {
	return index{O(new(T)), field, func(o client.Object) []string { return []string{value(o.(O))} }}
}
