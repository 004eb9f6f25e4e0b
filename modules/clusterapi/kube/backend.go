package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// Backend reads and writes the objects of one Cluster. It is safe for concurrent use.
type Backend struct {
	client    dynamic.Interface
	mapper    meta.RESTMapper
	namespace string
	cluster   string
}

var _ clusterapi.Backend = (*Backend)(nil)

// New returns a Backend for a Cluster of a namespace. It makes no request. mapper finds the resources of infrastructure providers.
func New(client dynamic.Interface, mapper meta.RESTMapper, namespace, cluster string) *Backend {
	return &Backend{client: client, mapper: mapper, namespace: namespace, cluster: cluster}
}

func (b *Backend) resource(name string) dynamic.ResourceInterface {
	return b.client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: name}).Namespace(b.namespace)
}

// Write sends one write with its preconditions, which the API server checks. It makes one attempt.
func (b *Backend) Write(ctx context.Context, w clusterapi.Write) error {
	var err error
	switch w.Op {
	case clusterapi.OpClaim:
		err = b.patch(ctx, "machines", w, annotations{clusterapi.ClaimAnnotation: w.Value}, nil)
	case clusterapi.OpFence:
		err = b.patch(ctx, "machines", w, annotations{clusterapi.FenceAnnotation: w.Value}, nil)
	case clusterapi.OpRelease:
		err = b.patch(ctx, "machines", w, annotations{clusterapi.DeleteMachineAnnotation: w.Value}, nil)
	case clusterapi.OpScale:
		err = b.scale(ctx, "machinedeployments", w)
	case clusterapi.OpShrink:
		err = b.scale(ctx, "machinesets", w)
	case clusterapi.OpPause:
		err = b.patch(ctx, "machinedeployments", w, annotations{pausedAnnotation: "", clusterapi.RemovalAnnotation: w.Value}, &w.Replicas)
	case clusterapi.OpResume:
		err = b.patch(ctx, "machinedeployments", w, annotations{pausedAnnotation: nil, clusterapi.RemovalAnnotation: nil}, nil)
	default:
		return claims.Invalid(string(w.Op), "Write.Op", "%q is not a write operation", w.Op)
	}
	return failure(string(w.Op), w.Object, err)
}

// annotations are set by a merge patch; nil removes an annotation.
type annotations map[string]any

// patch changes annotations, and replicas if they are given, of an object with a version.
func (b *Backend) patch(ctx context.Context, resource string, w clusterapi.Write, set annotations, replicas *int) error {
	metadata := map[string]any{"resourceVersion": w.ResourceVersion, "annotations": set}
	if w.UID != "" {
		metadata["uid"] = w.UID
	}
	change := map[string]any{"metadata": metadata}
	if replicas != nil {
		change["spec"] = map[string]any{"replicas": *replicas}
	}
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	_, err = b.resource(resource).Patch(ctx, w.Object, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

const fieldManager = "karpenter-linode"

// scale sets replicas by the scale subresource of an object with a version.
func (b *Backend) scale(ctx context.Context, resource string, w clusterapi.Write) error {
	metadata := map[string]any{"name": w.Object, "namespace": b.namespace, "resourceVersion": w.ResourceVersion}
	if w.UID != "" {
		metadata["uid"] = w.UID
	}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": map[string]any{"replicas": int64(w.Replicas)},
	}}
	_, err := b.resource(resource).Update(ctx, scale, metav1.UpdateOptions{FieldManager: fieldManager}, "scale")
	return err
}

// failure translates an error of the API server into an error of package claims.
func failure(op, object string, err error) error {
	if err == nil {
		return nil
	}
	e := &claims.Error{Kind: claims.KindUnavailable, Op: op, Object: object, Err: err}
	if seconds, suggested := apierrors.SuggestsClientDelay(err); suggested {
		e.RetryAfter = secondsOf(seconds)
	}
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status): // no answer: the effect is not known
	case apierrors.IsConflict(err):
		e.Kind, e.Effect = claims.KindConflict, claims.EffectNone
	case apierrors.IsNotFound(err):
		e.Kind, e.Effect = claims.KindNotFound, claims.EffectNone
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		e.Kind, e.Effect = claims.KindForbidden, claims.EffectNone
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err):
		e.Kind, e.Effect = claims.KindInvalid, claims.EffectNone
	case apierrors.IsTooManyRequests(err):
		e.Kind, e.Effect = claims.KindRateLimited, claims.EffectNone
	}
	return e
}
