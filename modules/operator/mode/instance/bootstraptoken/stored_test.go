package bootstraptoken_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stored moves stringData into data, and answers without it, as the API server does and the fake client does not.
type stored struct{ client.Client }

func (s stored) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return s.Client.Create(ctx, object, options...)
	}
	written := secret.DeepCopy()
	written.Data, written.StringData = map[string][]byte{}, nil
	for key, value := range secret.StringData {
		written.Data[key] = []byte(value)
	}
	secret.StringData = nil
	return s.Client.Create(ctx, written, options...)
}
