package instance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
)

// Secrets reads the Secrets that classes name in tokenSecretRef and userDataSecretRef. The content goes into user data, which every
// process on the node can read, so an author of classes must not choose the Secret freely. The administrator lists the allowed Secrets,
// and credentials of the cluster and of the operator are refused in any Secret.
type Secrets struct {
	Reader client.Reader // of the API server, since a cache needs the right to list
	// Listed are the only Secrets that are read.
	Listed []types.NamespacedName
	// Own returns the operator's own API token. A value that contains it is refused. nil = no token.
	Own linode.TokenSource
}

// read returns one value that a class names. Its errors name the Secret, but nothing of the content.
func (s Secrets) read(ctx context.Context, field string, ref *v1alpha1.SecretKeyReference) ([]byte, error) {
	if ref == nil {
		return nil, &problem{reason: v1alpha1.ReasonBootstrapInvalid, field: field, text: "is not set"}
	}
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	refused := func(format string, args ...any) error {
		return &problem{reason: v1alpha1.ReasonForbidden, field: field, text: fmt.Sprintf("the Secret %s ", name) + fmt.Sprintf(format, args...)}
	}
	switch {
	case name.Namespace == metav1.NamespaceSystem && strings.HasPrefix(name.Name, bootstraptoken.NamePrefix):
		return nil, refused("is a bootstrap token, which no class may name; use another Secret for %s", field)
	case !slices.Contains(s.Listed, name):
		return nil, refused("is not one that classes may name; add it to the chart's settings.instance.secrets")
	}
	found := &corev1.Secret{}
	if err := s.Reader.Get(ctx, name, found); err != nil {
		return nil, secretProblem(field, ref, err)
	}
	if found.Type == corev1.SecretTypeServiceAccountToken || found.Type == bootstraptoken.SecretType {
		return nil, refused("has the type %s, a credential of the cluster; use a Secret of the type Opaque", found.Type)
	}
	value := found.Data[ref.Key]
	if len(value) == 0 {
		return nil, &problem{reason: v1alpha1.ReasonSecretNotFound, field: field,
			text: fmt.Sprintf("the Secret %s has no data under the key %q; add it, or correct the reference", name, ref.Key)}
	}
	if s.Own != nil {
		if own, err := s.Own(ctx); err == nil && bytes.Contains(value, []byte(own)) {
			return nil, refused("contains the operator's own API token, which no node may have; use another token")
		}
	}
	return value, nil
}
