package bootstraptoken_test

import (
	"context"
	"errors"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
)

const own = "0123456789abcdef0123456789abcdef"

type world struct {
	*testing.T
	kube   client.Client
	clock  *clocktesting.FakeClock
	issuer *bootstraptoken.Issuer
	reads  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Now())}
	w.kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	w.restart(own, "cluster-a")
	return w
}

// restart replaces the process. Its client may not read.
func (w *world) restart(token, cluster string) {
	unreadable := interceptor.NewClient(w.kube.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			w.reads++
			return errors.New("there is no right to read Secrets")
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			w.reads++
			return errors.New("there is no right to list Secrets")
		},
	})
	w.issuer = bootstraptoken.NewIssuer(bootstraptoken.Config{Kube: stored{unreadable}, Token: linode.StaticToken(token), Cluster: cluster,
		Clock: w.clock})
}

func (w *world) claim(name, uid string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(w.clock.Now())}}
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

func TestTokenIsOfOneNodeClaimAndShortLived(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("default-a", "uid-a")
	w.clock.Step(time.Minute)
	token := w.issue(claim)
	if !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(token) {
		t.Fatalf("%d characters that kubeadm does not take", len(token))
	}
	if other := w.issue(w.claim("default-b", "uid-b")); strings.SplitN(other, ".", 2)[1] == strings.SplitN(token, ".", 2)[1] {
		t.Error("two NodeClaims have one secret")
	}
	if strings.Contains(token, own[:8]) {
		t.Error("the API token is in it")
	}
	secret, err := w.secret("uid-a")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:karpenter",
		"expiration": claim.CreationTimestamp.Add(15 * time.Minute).UTC().Format(time.RFC3339), "token-id": strings.SplitN(token, ".", 2)[0],
		"token-secret": strings.SplitN(token, ".", 2)[1],
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

// A process that was started again gives the same token, and reads no Secret for it.
func TestProcessThatIsStartedAgainGivesTheSameToken(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("default-a", "uid-a")
	first := w.issue(claim)
	w.restart(own, "cluster-a")
	if w.issue(claim) != first {
		t.Error("a Linode that has booted with the first token would not join")
	}
	if w.reads > 0 {
		t.Errorf("%d reads", w.reads)
	}
}

// An API token that is replaced changes no token that is in use.
func TestReplacedAPITokenKeepsTheTokensOfTheProcess(t *testing.T) {
	w := newWorld(t)
	now := own
	w.issuer = bootstraptoken.NewIssuer(bootstraptoken.Config{Kube: stored{w.kube}, Cluster: "cluster-a", Clock: w.clock,
		Token: func(context.Context) (string, error) { return now, nil }})
	claim := w.claim("default-a", "uid-a")
	first := w.issue(claim)
	now = "another"
	if w.issue(claim) != first {
		t.Error("the stored token is another one")
	}
}

// A token cannot be computed without the API token, nor be used in another cluster of the account.
func TestTokensDependOnTheAPITokenAndTheCluster(t *testing.T) {
	w := newWorld(t)
	first := w.issue(w.claim("default-a", "uid-a"))
	for name, of := range map[string][2]string{"API token": {"another", "cluster-a"}, "cluster": {own, "cluster-b"}} {
		w := newWorld(t)
		w.restart(of[0], of[1])
		if w.issue(w.claim("default-a", "uid-a")) == first {
			t.Errorf("the token is the same for another %s", name)
		}
	}
}

func TestNodeClaimWhoseTokenIsAboutToExpireGetsNone(t *testing.T) {
	w := newWorld(t)
	claim := w.claim("default-a", "uid-a")
	w.issue(claim)
	w.clock.Step(14 * time.Minute)
	if _, err := w.issuer.Issue(t.Context(), claim); err == nil || !strings.Contains(err.Error(), "default-a") {
		t.Errorf("a Linode gets a token that expires before it has booted: %v", err)
	}
}

func TestRevokedTokenIsGone(t *testing.T) {
	w := newWorld(t)
	w.issue(w.claim("default-a", "uid-a"))
	for range 2 { // once more changes nothing
		if err := w.issuer.Revoke(t.Context(), "uid-a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.secret("uid-a"); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
	if w.reads > 0 {
		t.Errorf("%d reads", w.reads)
	}
}
