package certificates_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
)

var made = time.Now().Add(-time.Minute).Truncate(time.Second)

// clientScene is one request beside two NodeClaims.
type clientScene struct {
	certificate *x509.CertificateRequest
	csr         *certificatesv1.CertificateSigningRequest
	claim       *karpv1.NodeClaim // of the node that asks
	nodes       []client.Object
}

func claimNamed(name string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(made)},
		Spec:       karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}},
	}
}

// properClient is the request of a joining node of this cluster, before its launch is recorded.
func properClient() *clientScene {
	of := claimNamed("default-a")
	return &clientScene{
		certificate: &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "system:node:own-default-a", Organization: []string{"system:nodes"}},
		},
		csr: &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "csr-1", UID: "uid-csr-1"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Username: "system:bootstrap:" + bootstraptoken.TokenID(of.UID),
				Groups: []string{"system:bootstrappers", "system:bootstrappers:karpenter", "system:authenticated"},
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			},
		},
		claim: of,
	}
}

// nodeOf is a Node that was made so long after the NodeClaims.
func nodeOf(name string, after time.Duration) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(made.Add(after))}}
}

// run reconciles the request once, so long after it was made.
func (s *clientScene) run(t *testing.T, after time.Duration) (approved bool, events []string, again time.Duration) {
	t.Helper()
	s.csr.CreationTimestamp = metav1.NewTime(time.Now().Add(-after))
	s.csr.Spec.Request = controllertest.CertificateRequest(t, s.certificate)
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(s.nodes, s.csr, s.claim, claimNamed("default-b"))...).
		WithStatusSubresource(s.csr).WithInterceptorFuncs(controllertest.Approval).Build()
	recorder := &controllertest.Recorder{}
	controller := certificates.NewClient(kube, recorder, func(nodeClaim string) string { return "own-" + nodeClaim })
	stored := &certificatesv1.CertificateSigningRequest{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(s.csr), stored); err != nil {
		t.Fatal(err)
	}
	result, err := controller.Reconcile(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(s.csr), stored); err != nil {
		t.Fatal(err)
	}
	for _, condition := range stored.Status.Conditions {
		approved = approved || condition.Type == certificatesv1.CertificateApproved
	}
	return approved, recorder.Of(s.csr.Name), result.RequeueAfter
}

func TestFirstCertificateOfAJoiningNodeIsApproved(t *testing.T) {
	for name, change := range map[string]func(*clientScene){
		"before its launch is recorded": func(*clientScene) {},
		"beside a Node of its own, which it made before": func(s *clientScene) {
			s.nodes = []client.Object{nodeOf("own-default-a", time.Second)}
		},
		"beside an older Node of another name": func(s *clientScene) {
			s.nodes = []client.Object{nodeOf("own-default-b", -time.Hour)}
		},
		"launched": func(s *clientScene) { s.claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched) },
		"with an RSA key's usages": func(s *clientScene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment)
		},
	} {
		s := properClient()
		change(s)
		if approved, events, again := s.run(t, 0); !approved || len(events) > 0 || again > 0 {
			t.Errorf("%s: approved %t, events %v, again after %s", name, approved, events, again)
		}
	}
}

// A subject of a megabyte is neither logged nor remembered.
func TestALongSubjectIsReportedInFewWords(t *testing.T) {
	s := properClient()
	s.certificate.Subject.CommonName = strings.Repeat("\x1b[2J", 50_000)
	approved, events, _ := s.run(t, 0)
	if approved || len(events) != 1 || len(events[0]) > 1000 || strings.Contains(events[0], "\x1b") {
		t.Errorf("approved %t, %d events of %d bytes", approved, len(events), len(strings.Join(events, "")))
	}
}

// The token of one NodeClaim is good for the first certificate of that NodeClaim's node, and for no other.
func TestNoOtherCertificateIsApproved(t *testing.T) {
	named := func(name string) func(*clientScene) {
		return func(s *clientScene) { s.certificate.Subject.CommonName = name }
	}
	for name, test := range map[string]struct {
		change func(*clientScene)
		reason string
		again  bool
	}{
		"another NodeClaim's node": {named("system:node:own-default-b"), "does not belong to NodeClaim default-b", false},
		"the control plane's node": {named("system:node:control-plane-1"), "no NodeClaim has the node control-plane-1", true},
		"an administrator":         {named("kubernetes-admin"), "the subject must be", false},
		"a node without a name":    {named("system:node:"), "the subject must be", false},
		"the group of masters": {func(s *clientScene) {
			s.certificate.Subject.Organization = []string{"system:masters"}
		}, "the subject must be", false},
		"one group more": {func(s *clientScene) {
			s.certificate.Subject.Organization = append(s.certificate.Subject.Organization, "a")
		}, "the subject must be", false},
		"a DNS name": {func(s *clientScene) {
			s.certificate.DNSNames = []string{"api.example.com"}
		}, "DNS names or addresses", false},
		"an address": {func(s *clientScene) {
			s.certificate.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)}
		}, "DNS names or addresses", false},
		"a certificate of a server": {func(s *clientScene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageServerAuth)
		}, "its usages are", false},
		"a token of kubeadm's": {func(s *clientScene) { s.csr.Spec.Groups = []string{"system:bootstrappers:kubeadm:default-node-token"} },
			"is not a bootstrap token of the group system:bootstrappers:karpenter", false},
		"a user": {func(s *clientScene) { s.csr.Spec.Username = "alice" }, `the sender "alice"`, false},
		"a node": {func(s *clientScene) {
			s.csr.Spec.Username = "system:node:own-default-a"
		}, "is not a bootstrap token", false},
		"no claim": {func(s *clientScene) {
			s.claim.Name = "default-c"
		}, "no NodeClaim has the node own-default-a", true},
		"another provider's": {func(s *clientScene) { s.claim.Spec.NodeClassRef.Kind = "EC2NodeClass" },
			"no NodeClaim has the node own-default-a", true},
		"registered": {func(s *clientScene) {
			s.claim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
		}, "is registered", false},
		"of an older Node": {func(s *clientScene) {
			s.nodes = []client.Object{nodeOf("own-default-a", -time.Hour)}
		}, "Node own-default-a is older than NodeClaim default-a", true},
		"of a Node that is as old": {func(s *clientScene) {
			s.nodes = []client.Object{nodeOf("own-default-a", 0)}
		}, "is older than NodeClaim default-a", true},
		"being deleted": {func(s *clientScene) {
			s.claim.Finalizers, s.claim.DeletionTimestamp = []string{"karpenter.sh/termination"}, &metav1.Time{Time: time.Now()}
		}, "is being deleted", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := properClient()
			test.change(s)
			approved, events, again := s.run(t, time.Minute)
			if approved || (again > 0) != test.again {
				t.Errorf("approved %t, again after %s", approved, again)
			}
			if len(events) != 1 || !strings.HasPrefix(events[0], "Normal "+certificates.EventClientNotApproved) ||
				!strings.Contains(events[0], test.reason) {
				t.Errorf("the events are %v, expected one with %q", events, test.reason)
			}
		})
	}
}
