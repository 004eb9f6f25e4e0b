package plane

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// Rotation replaces the authority of a self-managed cluster while it runs, step by step, as the page of Kubernetes about a manual rotation
// does. API server and controller manager read their files again when these change.
//
// There are two differences. With its new certificate, the API server also sends the new authority's certificate, signed by the old
// authority. And the API server continues to accept clients of the old authority. So programs that were started before the rotation, here
// and in tests, need no restart. A node that joins after Finish knows the new authority alone.
type Rotation struct {
	plane *Plane
	next  *pki.Authority
}

// Rotate makes the new authority. Nothing uses it yet.
func (p *Plane) Rotate() (*Rotation, error) {
	next, err := pki.NewAuthority("karpenter-linode-local-next")
	if err != nil {
		return nil, err
	}
	return &Rotation{plane: p, next: next}, nil
}

// TrustBoth lets the cluster trust both authorities: clients of either are accepted, and cluster-info has both.
func (r *Rotation) TrustBoth(ctx context.Context) error {
	both := slices.Concat(r.plane.authority.Cert, r.next.Cert)
	if err := pki.WriteFile(r.plane.path("pki", "trusted.crt"), both); err != nil {
		return err
	}
	return r.publish(ctx, both)
}

// Switch makes the new authority the signer of the API server's certificate and of the certificates that nodes request.
func (r *Rotation) Switch() error {
	serving, err := r.plane.serving(r.next)
	if err != nil {
		return err
	}
	crossed, err := r.plane.authority.Cross(r.next)
	if err != nil {
		return err
	}
	serving.Cert = slices.Concat(serving.Cert, crossed)
	return r.plane.writePairs(map[string]pki.Pair{"apiserver": serving, "ca": r.next.Pair})
}

// Finish removes the old authority from cluster-info.
func (r *Rotation) Finish(ctx context.Context) error { return r.publish(ctx, r.next.Cert) }

// Issuer is the certificate of the new authority.
func (r *Rotation) Issuer() []byte { return r.next.Cert }

// publish writes the authorities into cluster-info, where joining nodes read them.
func (r *Rotation) publish(ctx context.Context, authorities []byte) error {
	const namespace, name, key = "kube-public", "cluster-info", "kubeconfig"
	client, err := r.plane.Client("rotation")
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	info, err := maps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	config, err := clientcmd.Load([]byte(info.Data[key]))
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	for _, cluster := range config.Clusters {
		cluster.CertificateAuthorityData = authorities
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	info.Data[key] = string(content)
	if _, err := maps.Update(ctx, info, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
