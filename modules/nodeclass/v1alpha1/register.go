package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// Group is the API group, and the domain of this provider's labels, annotations, tags and finalizer.
	Group = "karpenter.k8s.linode"
	// Version of the API in this package.
	Version = "v1alpha1"
	// Kind is the kind a NodePool names in nodeClassRef.kind.
	Kind = "LinodeNodeClass"
	// ResourcePlural is the resource's name in URLs and RBAC rules.
	ResourcePlural = "linodenodeclasses"
)

// SchemeGroupVersion is karpenter.k8s.linode/v1alpha1.
var SchemeGroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// GroupKind and GroupVersionKind of LinodeNodeClass.
var (
	GroupKind        = schema.GroupKind{Group: Group, Kind: Kind}
	GroupVersionKind = SchemeGroupVersion.WithKind(Kind)
)

func init() {
	metav1.AddToGroupVersion(scheme.Scheme, SchemeGroupVersion)
	scheme.Scheme.AddKnownTypes(SchemeGroupVersion, &LinodeNodeClass{}, &LinodeNodeClassList{})
}
