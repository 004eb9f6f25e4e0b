package bootstraptoken_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
)

type world struct {
	*testing.T
	kube   client.Client
	clock  *clocktesting.FakeClock
	issuer *bootstraptoken.Issuer
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{T: t, kube: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build(),
		clock: clocktesting.NewFakeClock(time.Now())}
	w.issuer = bootstraptoken.NewIssuer(w.kube, stored{w.kube}, w.clock)
	return w
}

func (w *world) issue(claim *karpv1.NodeClaim) string {
	w.Helper()
	token, err := w.issuer.Issue(w.Context(), claim)
	if err != nil {
		w.Fatal(err)
	}
	return token
}

func (w *world) secret(uid types.UID) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	return found, w.kube.Get(w.Context(), types.NamespacedName{Namespace: "kube-system", Name: bootstraptoken.SecretName(uid)}, found)
}

func claim(name, uid string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

func TestTokenIsOfOneNodeClaimAndShortLived(t *testing.T) {
	w := newWorld(t)
	token := w.issue(claim("default-a", "uid-a"))
	if !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(token) {
		t.Fatalf("%d characters that kubeadm does not take", len(token))
	}
	if other := w.issue(claim("default-b", "uid-b")); other == token {
		t.Error("two NodeClaims have one token")
	}
	secret, err := w.secret("uid-a")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:karpenter",
		"expiration": w.clock.Now().Add(15 * time.Minute).UTC().Format(time.RFC3339), "token-id": strings.SplitN(token, ".", 2)[0],
	} {
		if got := string(secret.Data[key]); got != want {
			t.Errorf("%s is %q, expected %q", key, got, want)
		}
	}
	if secret.Type != "bootstrap.kubernetes.io/token" || secret.Name != "bootstrap-token-"+string(secret.Data["token-id"]) {
		t.Errorf("the Secret is %s of type %s", secret.Name, secret.Type)
	}
	if owners := secret.OwnerReferences; len(owners) != 1 || owners[0].Kind != "NodeClaim" || owners[0].UID != "uid-a" ||
		owners[0].BlockOwnerDeletion != nil {
		t.Errorf("its owners are %+v", owners)
	}
}

func TestProcessThatIsStartedAgainGivesTheSameToken(t *testing.T) {
	w := newWorld(t)
	first := w.issue(claim("default-a", "uid-a"))
	w.issuer = bootstraptoken.NewIssuer(w.kube, stored{w.kube}, w.clock)
	if w.issue(claim("default-a", "uid-a")) != first {
		t.Error("a Linode that has booted with the first token would not join")
	}
}

func TestTokenThatIsAboutToExpireIsReplaced(t *testing.T) {
	w := newWorld(t)
	first := w.issue(claim("default-a", "uid-a"))
	w.clock.Step(14 * time.Minute)
	if w.issue(claim("default-a", "uid-a")) == first {
		t.Error("a Linode gets a token that expires before it has booted")
	}
}

func TestRevokedTokenIsGone(t *testing.T) {
	w := newWorld(t)
	w.issue(claim("default-a", "uid-a"))
	for range 2 { // once more changes nothing
		if err := w.issuer.Revoke(t.Context(), "uid-a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.secret("uid-a"); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
}

func TestSecretOfAnotherOwnerIsLeftAlone(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: bootstraptoken.SecretName("uid-a")},
		Data: map[string][]byte{"token-secret": []byte("0123456789abcdef")}}
	w := newWorld(t, foreign)
	if _, err := w.issuer.Issue(t.Context(), claim("default-a", "uid-a")); err == nil || strings.Contains(err.Error(), "0123456789abcdef") {
		t.Errorf("the error is %v", err)
	}
	if err := w.issuer.Revoke(t.Context(), "uid-a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.secret("uid-a"); err != nil {
		t.Errorf("it was deleted: %v", err)
	}
}
