package bootstraptoken

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// Namespace is where Kubernetes looks for bootstrap tokens.
	Namespace = metav1.NamespaceSystem
	// Group is the group of a token, beside system:bootstrappers.
	Group = "system:bootstrappers:karpenter"
	// Lifetime is for how long core waits for a node to register.
	Lifetime = 15 * time.Minute

	// leastLife is how much of its life a token must have left to be used for a new Linode, which takes a minute or two to boot.
	leastLife = 2 * time.Minute

	secretType corev1.SecretType = "bootstrap.kubernetes.io/token"

	namePrefix  = "bootstrap-token-"
	tokenLength = 16

	keyID, keySecret, keyExpiration, keyGroups = "token-id", "token-secret", "expiration", "auth-extra-groups"
	keyAuthentication, keySigning              = "usage-bootstrap-authentication", "usage-bootstrap-signing"
	// annotationUID is on the Secret: the UID of its NodeClaim.
	annotationUID = v1alpha1.Group + "/nodeclaim-uid"
)

// Issuer issues and revokes tokens.
type Issuer struct {
	reader client.Reader
	writer client.Writer
	clock  clock.PassiveClock
}

// NewIssuer returns an Issuer. reader must read from the API server: a cache of Secrets would need the right to list them.
func NewIssuer(reader client.Reader, writer client.Writer, now clock.PassiveClock) *Issuer {
	return &Issuer{reader: reader, writer: writer, clock: now}
}

// Issue returns the NodeClaim's token, the one that it has or a new one. A token that is about to expire is replaced.
func (i *Issuer) Issue(ctx context.Context, nodeClaim *karpv1.NodeClaim) (string, error) {
	if nodeClaim.UID == "" {
		return "", fmt.Errorf("NodeClaim %s has no UID, so it gets no bootstrap token", nodeClaim.Name)
	}
	stored, err := i.stored(ctx, nodeClaim.UID)
	switch {
	case err != nil:
		return "", err
	case stored == nil:
	case !owned(stored, nodeClaim.UID):
		return "", fmt.Errorf("the Secret %s/%s is not the bootstrap token of NodeClaim %s: delete it if nothing uses it", Namespace, stored.Name,
			nodeClaim.Name)
	default:
		expires, err := time.Parse(time.RFC3339, string(stored.Data[keyExpiration]))
		id, secret := string(stored.Data[keyID]), string(stored.Data[keySecret])
		if err == nil && id == tokenID(nodeClaim.UID) && len(secret) == tokenLength && expires.Sub(i.clock.Now()) > leastLife {
			return id + "." + secret, nil
		}
		if err := i.delete(ctx, stored); err != nil {
			return "", err
		}
	}
	secret := i.secret(nodeClaim)
	// before: the API server's answer, which replaces the object, has no StringData
	token := secret.StringData[keyID] + "." + secret.StringData[keySecret]
	if err := i.writer.Create(ctx, secret); err != nil {
		return "", fmt.Errorf("creating the Secret %s/%s: %w", Namespace, secret.Name, err)
	}
	return token, nil
}

// Revoke deletes the token of a NodeClaim, if there is one. A Secret of its name that is not a NodeClaim's stays.
func (i *Issuer) Revoke(ctx context.Context, nodeClaim types.UID) error {
	stored, err := i.stored(ctx, nodeClaim)
	if err != nil || stored == nil || !owned(stored, nodeClaim) {
		return err
	}
	return i.delete(ctx, stored)
}

// stored is the Secret of the name that a NodeClaim's token has; nil if there is none.
func (i *Issuer) stored(ctx context.Context, nodeClaim types.UID) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	err := i.reader.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: SecretName(nodeClaim)}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the Secret %s/%s: %w", Namespace, SecretName(nodeClaim), err)
	}
	return found, nil
}

func owned(stored *corev1.Secret, by types.UID) bool {
	return stored.Annotations[annotationUID] == string(by)
}

// delete removes the Secret as it was read, and no later one of its name.
func (i *Issuer) delete(ctx context.Context, stored *corev1.Secret) error {
	err := i.writer.Delete(ctx, stored, client.Preconditions{UID: &stored.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the Secret %s/%s: %w", Namespace, stored.Name, err)
	}
	return nil
}

func (i *Issuer) secret(nodeClaim *karpv1.NodeClaim) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: SecretName(nodeClaim.UID),
			Annotations: map[string]string{annotationUID: string(nodeClaim.UID)},
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "karpenter"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: apis.Group + "/v1", Kind: "NodeClaim", Name: nodeClaim.Name, UID: nodeClaim.UID,
			}},
		},
		Type: secretType,
		StringData: map[string]string{
			keyID: tokenID(nodeClaim.UID), keySecret: randomText(), keyGroups: Group,
			keyExpiration:     i.clock.Now().Add(Lifetime).UTC().Format(time.RFC3339),
			keyAuthentication: "true", keySigning: "true",
			"description": "of NodeClaim " + nodeClaim.Name,
		},
	}
}

// SecretName is the name of the Secret of a NodeClaim's token.
func SecretName(nodeClaim types.UID) string { return namePrefix + tokenID(nodeClaim) }

// tokenID is the public half of a token, which must be six lower case letters and digits.
func tokenID(nodeClaim types.UID) string {
	sum := sha256.Sum256([]byte(nodeClaim))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:6]
}

// randomText is the secret half.
func randomText() string { return strings.ToLower(rand.Text()[:tokenLength]) }
