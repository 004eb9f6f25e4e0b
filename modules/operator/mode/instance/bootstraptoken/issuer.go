package bootstraptoken

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// Namespace is the namespace in which Kubernetes looks for bootstrap tokens.
	Namespace = metav1.NamespaceSystem
	// Group is the group of a token, in addition to system:bootstrappers.
	Group = "system:bootstrappers:karpenter"
	// UserPrefix begins the user name with which a token authenticates. The token's ID follows.
	UserPrefix = "system:bootstrap:"
	// NamePrefix begins the names of Secrets of bootstrap tokens.
	NamePrefix = "bootstrap-token-"
	// SecretType is the type of these Secrets.
	SecretType corev1.SecretType = "bootstrap.kubernetes.io/token"
	// Lifetime is the time from the creation of a NodeClaim for which its token is valid. Core waits as long for the node to register.
	Lifetime = 15 * time.Minute

	// leastLife is the time for which a token must still be valid when a new Linode gets it. A Linode takes a minute or two to boot.
	leastLife = 2 * time.Minute

	tokenLength = 16

	keyID, keySecret, keyExpiration, keyGroups = "token-id", "token-secret", "expiration", "auth-extra-groups"
	keyAuthentication, keySigning              = "usage-bootstrap-authentication", "usage-bootstrap-signing"
	// annotationUID is on the Secret: the UID of its NodeClaim.
	annotationUID = v1alpha1.Group + "/nodeclaim-uid"
	// purpose separates the key of tokens from every other use of the API token.
	purpose = "karpenter-linode bootstrap tokens 1"
)

// Config configures an Issuer. All fields are required.
type Config struct {
	Kube client.Writer
	// Token is the operator's API token, from which tokens are derived.
	Token linode.TokenSource
	// Cluster is the cluster's name. Clusters that share an API token get different bootstrap tokens by it.
	Cluster string
	Clock   clock.Clock
}

// Issuer issues and revokes tokens.
type Issuer struct {
	cfg    Config
	issued *cache.Expiring // by UID: the token that this process has stored
}

// NewIssuer returns an Issuer.
func NewIssuer(cfg Config) *Issuer {
	return &Issuer{cfg: cfg, issued: cache.NewExpiringWithClock(cfg.Clock)}
}

// Issue returns the NodeClaim's token, and stores the token if it is not stored yet. Each call returns the same token.
func (i *Issuer) Issue(ctx context.Context, nodeClaim *karpv1.NodeClaim) (string, error) {
	if nodeClaim.UID == "" {
		return "", fmt.Errorf("NodeClaim %s has no UID, so it gets no bootstrap token", nodeClaim.Name)
	}
	expires := nodeClaim.CreationTimestamp.Add(Lifetime)
	left := expires.Sub(i.cfg.Clock.Now())
	if left < leastLife {
		return "", fmt.Errorf("NodeClaim %s is too old for a bootstrap token, which would expire at %s; Karpenter replaces the NodeClaim",
			nodeClaim.Name, expires.UTC().Format(time.RFC3339))
	}
	if known, ok := i.issued.Get(nodeClaim.UID); ok {
		return known.(string), nil //nolint:forcetypeassert // nothing else is in it
	}
	half, err := i.derive(ctx, nodeClaim.UID)
	if err != nil {
		return "", err
	}
	err = i.cfg.Kube.Create(ctx, secret(nodeClaim, half, expires))
	if err != nil && !apierrors.IsAlreadyExists(err) { // of a process before this one
		return "", fmt.Errorf("creating the Secret %s/%s: %w", Namespace, SecretName(nodeClaim.UID), err)
	}
	token := TokenID(nodeClaim.UID) + "." + half
	i.issued.Set(nodeClaim.UID, token, left)
	return token, nil
}

// Revoke deletes the token of a NodeClaim, if there is one.
func (i *Issuer) Revoke(ctx context.Context, nodeClaim types.UID) error {
	i.issued.Delete(nodeClaim)
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: SecretName(nodeClaim)}}
	if err := i.cfg.Kube.Delete(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the Secret %s/%s: %w", Namespace, stored.Name, err)
	}
	return nil
}

// derive returns the secret half of a NodeClaim's token. 16 characters are 80 bits. A node that knows its token learns nothing about the
// key.
func (i *Issuer) derive(ctx context.Context, nodeClaim types.UID) (string, error) {
	own, err := i.cfg.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("deriving a bootstrap token: %w", err)
	}
	key, err := hkdf.Key(sha256.New, []byte(own), []byte(i.cfg.Cluster), purpose, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("deriving a bootstrap token: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(nodeClaim))
	return text(mac.Sum(nil), tokenLength), nil
}

func secret(nodeClaim *karpv1.NodeClaim, half string, expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: SecretName(nodeClaim.UID),
			Annotations: map[string]string{annotationUID: string(nodeClaim.UID)},
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "karpenter"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: apis.Group + "/v1", Kind: "NodeClaim", Name: nodeClaim.Name, UID: nodeClaim.UID,
			}},
		},
		Type: SecretType,
		StringData: map[string]string{
			keyID: TokenID(nodeClaim.UID), keySecret: half, keyGroups: Group,
			keyExpiration:     expires.UTC().Format(time.RFC3339),
			keyAuthentication: "true", keySigning: "true",
			"description": "of NodeClaim " + nodeClaim.Name,
		},
	}
}

// SecretName returns the name of the Secret of a NodeClaim's token.
func SecretName(nodeClaim types.UID) string { return NamePrefix + TokenID(nodeClaim) }

// TokenID returns the public half of a token, which must have six lower case letters and digits.
func TokenID(nodeClaim types.UID) string {
	sum := sha256.Sum256([]byte(nodeClaim))
	return text(sum[:], 6)
}

// text returns the first characters of a sum in lower case letters and digits.
func text(sum []byte, length int) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum))[:length]
}
