package certificates_test

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/certificates"
)

const (
	node    = "own-default-a"
	linode  = 4711
	public  = "192.0.2.20"
	private = "192.168.140.5"
	inVPC   = "10.0.0.5"
	slaac   = "2001:db8::f03c:91ff:fe00:1"
	another = "192.0.2.21"
)

var now = time.Now()

// scene is one request and what there is around it.
type scene struct {
	certificate *x509.CertificateRequest
	csr         *certificatesv1.CertificateSigningRequest
	claim       *karpv1.NodeClaim
	label       string
	known       bool  // the Linode was read before, with its addresses outside of VPCs
	err         error // of the read of the Linode
	reads, more int
	times       int // how often it is reconciled; 0 = once
}

// proper is the request of a node of this cluster.
func proper() *scene {
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "default-a", UID: "uid-a"},
		Spec:       karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}},
	}
	claim.Status.ProviderID = "linode://4711"
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	return &scene{
		certificate: &x509.CertificateRequest{
			Subject:  pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
			DNSNames: []string{node}, IPAddresses: addresses(public, private, slaac),
		},
		csr: &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "csr-1", UID: "uid-csr-1"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:" + node,
				Groups: []string{"system:nodes", "system:authenticated"},
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
			},
		},
		claim: claim, label: node,
	}
}

func addresses(texts ...string) []net.IP {
	var all []net.IP
	for _, text := range texts {
		all = append(all, net.ParseIP(text))
	}
	return all
}

// run reconciles the request once, so long after it was made, and returns it as it is stored then.
func (s *scene) run(t *testing.T, after time.Duration) (*certificatesv1.CertificateSigningRequest, *controllertest.Recorder,
	time.Duration) {
	t.Helper()
	s.csr.CreationTimestamp = metav1.NewTime(time.Now().Add(-after))
	t.Helper()
	if s.csr.Spec.Request == nil {
		s.csr.Spec.Request = controllertest.CertificateRequest(t, s.certificate)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(s.csr, s.claim).WithStatusSubresource(s.csr).
		WithInterceptorFuncs(controllertest.Approval).Build()
	recorder := &controllertest.Recorder{}
	controller := certificates.NewServing(kube, recorder, certificates.Serving{
		NodeName: func(nodeClaim string) string { return "own-" + nodeClaim },
		Known: func(int) (certificates.Linode, bool) {
			return certificates.Linode{Label: s.label, Addresses: []string{public, private, slaac + "/128"}}, s.known
		},
		Linode: func(_ context.Context, id int) (certificates.Linode, error) {
			s.reads++
			if id != linode {
				t.Errorf("Linode %d is read", id)
			}
			return certificates.Linode{Label: s.label, Addresses: []string{public, private, slaac + "/128"}}, s.err
		},
		Addresses: func(context.Context, int) ([]string, error) { s.more++; return []string{inVPC}, nil },
	})
	stored := &certificatesv1.CertificateSigningRequest{}
	key := client.ObjectKeyFromObject(s.csr)
	if err := kube.Get(t.Context(), key, stored); err != nil {
		t.Fatal(err)
	}
	result, err := controller.Reconcile(t.Context(), stored)
	for range s.times {
		result, err = controller.Reconcile(t.Context(), stored)
	}
	if (err != nil) != (s.err != nil && claims.KindOf(s.err) == claims.KindUnavailable) {
		t.Fatalf("the request fails with %v", err)
	}
	if err := kube.Get(t.Context(), key, stored); err != nil {
		t.Fatal(err)
	}
	return stored, recorder, result.RequeueAfter
}

func approved(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Conditions) == 1 && csr.Status.Conditions[0].Type == certificatesv1.CertificateApproved &&
		csr.Status.Conditions[0].Status == corev1.ConditionTrue
}

func TestRequestOfALaunchedNodeIsApproved(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		more   int // reads of all addresses
	}{
		"with all addresses of its Linode": {func(*scene) {}, 0},
		"with some of them":                {func(s *scene) { s.certificate.IPAddresses = addresses(public) }, 0},
		"with an address in a VPC":         {func(s *scene) { s.certificate.IPAddresses = addresses(public, inVPC) }, 1},
		"with an RSA key's usages": {func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := proper()
			test.change(s)
			csr, events, again := s.run(t, 0)
			if !approved(csr) || len(events.Of(s.csr.Name)) != 0 || again != 0 {
				t.Errorf("conditions %v, %d events, again after %s; expected an approval alone", csr.Status.Conditions, len(events.Of(s.csr.Name)),
					again)
			}
			if s.reads != 1 || s.more != test.more {
				t.Errorf("the Linode was read %d times and its addresses %d times, expected 1 and %d", s.reads, s.more, test.more)
			}
		})
	}
}

// A reading for another purpose is enough. However many requests a node makes, it causes one reading of its Linode a minute.
func TestServingRequestsCostFewReads(t *testing.T) {
	s := proper()
	s.known = true
	if csr, _, _ := s.run(t, 0); !approved(csr) || s.reads+s.more != 0 {
		t.Errorf("conditions %v after %d reads", csr.Status.Conditions, s.reads+s.more)
	}
	s = proper()
	s.known, s.times = true, 20
	s.certificate.IPAddresses = addresses(another)
	if csr, _, again := s.run(t, 0); approved(csr) || s.reads != 1 || s.more != 1 || again == 0 {
		t.Errorf("conditions %v, %d and %d reads for %d requests, again after %s", csr.Status.Conditions, s.reads, s.more, s.times, again)
	}
}

func TestRequestThatIsNotANodesOwnIsLeft(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		reason string
		reads  int
	}{
		"the name of another node": {func(s *scene) { s.certificate.DNSNames = []string{"own-default-b"} },
			`it requests the DNS names ["own-default-b"]; the node's is ` + node, 0},
		"one name more": {func(s *scene) { s.certificate.DNSNames = []string{node, "api.example.com"} }, "it requests the DNS names",
			0},
		"no name":    {func(s *scene) { s.certificate.DNSNames = nil }, "it requests the DNS names", 0},
		"no address": {func(s *scene) { s.certificate.IPAddresses = nil }, "it requests no IP address", 0},
		"a URI": {func(s *scene) {
			s.certificate.URIs = []*url.URL{{Scheme: "https", Host: node}}
		}, "e-mail addresses or URIs", 0},
		"the address of another Linode": {func(s *scene) { s.certificate.IPAddresses = addresses(public, another) },
			another + " is not an address of Linode 4711", 1},
		"the subject of another node": {func(s *scene) { s.certificate.Subject.CommonName = "system:node:own-default-b" },
			"the subject must be system:node:" + node, 0},
		"one organisation more": {func(s *scene) {
			s.certificate.Subject.Organization = append(s.certificate.Subject.Organization, "system:masters")
		}, "the subject must be", 0},
		"a user who is no node":        {func(s *scene) { s.csr.Spec.Username = "alice" }, `the sender "alice" is not a node`, 0},
		"a node's name, not its group": {func(s *scene) { s.csr.Spec.Groups = []string{"system:authenticated"} }, "is not a node", 0},
		"a usage more": {func(s *scene) { s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageClientAuth) },
			"its usages are", 0},
		"a usage less":                     {func(s *scene) { s.csr.Spec.Usages = s.csr.Spec.Usages[:1] }, "its usages are", 0},
		"no request":                       {func(s *scene) { s.csr.Spec.Request = []byte("none") }, "is not one certificate request in PEM", 0},
		"a label that was changed by hand": {func(s *scene) { s.label = "other" }, `Linode 4711 has the label "other"`, 1},
		"a Linode of another cluster": {func(s *scene) {
			s.err = &claims.Error{Kind: claims.KindConflict,
				Err: errors.New("foreign")}
		}, "does not belong to this cluster", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := proper()
			test.change(s)
			csr, events, again := s.run(t, 0)
			if len(csr.Status.Conditions) != 0 || again != 0 {
				t.Errorf("conditions %v, again after %s; expected that the request is left", csr.Status.Conditions, again)
			}
			if s.reads != test.reads {
				t.Errorf("the Linode was read %d times, expected %d", s.reads, test.reads)
			}
			if got := events.Of(s.csr.Name); len(got) != 1 || !strings.HasPrefix(got[0], "Normal "+certificates.EventServingNotApproved) ||
				!strings.Contains(got[0], test.reason) {
				t.Errorf("the events are %v, expected one with %q", got, test.reason)
			}
		})
	}
}

// The launch of a NodeClaim may be recorded soon, and a new Linode that one reading does not show may be in the next. So a request is
// checked again, and reported only if the objection stays.
func TestRequestBeforeTheLaunchIsLookedAtAgain(t *testing.T) {
	foreign := func(s *scene) { s.claim.Spec.NodeClassRef.Kind = "EC2NodeClass" }
	unseen := func(s *scene) { s.err = &claims.Error{Kind: claims.KindNotFound, Err: errors.New("gone")} }
	for name, test := range map[string]struct {
		change func(*scene)
		after  time.Duration
		again  bool
		reason string
	}{
		"no NodeClaim yet": {func(s *scene) { s.claim.Name = "default-b" }, time.Second, true, ""},
		"no NodeClaim for long": {func(s *scene) { s.claim.Name = "default-b" }, time.Minute, true,
			"no NodeClaim has the node " + node},
		"no NodeClaim until it is too late": {func(s *scene) { s.claim.Name = "default-b" }, time.Hour, false,
			"no NodeClaim has the node " + node},
		"another provider's": {foreign, time.Minute, true, "no NodeClaim has the node " + node},
		"without a Linode":   {func(s *scene) { s.claim.Status.ProviderID = "" }, time.Minute, true, "is not launched"},
		"not launched":       {func(s *scene) { s.claim.Status.Conditions = nil }, time.Minute, true, "is not launched"},
		"being deleted": {func(s *scene) {
			s.claim.Finalizers, s.claim.DeletionTimestamp = []string{"karpenter.sh/termination"}, &metav1.Time{Time: now}
		}, time.Minute, true, "is being deleted"},
		"a Linode that the API does not show yet":      {unseen, time.Second, true, ""},
		"a Linode that the API does not show":          {unseen, time.Minute, true, "does not exist"},
		"a Linode that the API does not show for ever": {unseen, time.Hour, false, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := proper()
			test.change(s)
			csr, events, again := s.run(t, test.after)
			reads := 0
			if s.err != nil {
				reads = 1
			}
			if len(csr.Status.Conditions) != 0 || s.reads != reads || (again > 0) != test.again {
				t.Errorf("conditions %v, %d reads, again after %s; expected that the request is left, again %t", csr.Status.Conditions, s.reads, again,
					test.again)
			}
			got := events.Of(s.csr.Name)
			if (test.reason == "") != (len(got) == 0) || len(got) > 0 && !strings.Contains(got[0], test.reason) {
				t.Errorf("the events are %v, expected %q", got, test.reason)
			}
		})
	}
}

func TestDecidedAndForeignRequestsAreNotTouched(t *testing.T) {
	decided := func(kind certificatesv1.RequestConditionType) func(*scene) {
		return func(s *scene) {
			s.csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue,
				Reason: "ByHand"}}
		}
	}
	for name, change := range map[string]func(*scene){
		"approved": decided(certificatesv1.CertificateApproved), "denied": decided(certificatesv1.CertificateDenied),
		"failed":         decided(certificatesv1.CertificateFailed),
		"another signer": func(s *scene) { s.csr.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName },
		"signed":         func(s *scene) { s.csr.Status.Certificate = []byte("certificate") },
	} {
		t.Run(name, func(t *testing.T) {
			s := proper()
			change(s)
			before := slices.Clone(s.csr.Status.Conditions)
			csr, events, again := s.run(t, 0)
			if len(csr.Status.Conditions) != len(before) || len(before) > 0 && csr.Status.Conditions[0].Reason != "ByHand" ||
				len(events.Of(s.csr.Name)) != 0 || again != 0 || s.reads != 0 {
				t.Errorf("conditions %v, %d events, %d reads; expected nothing", csr.Status.Conditions, len(events.Of(s.csr.Name)), s.reads)
			}
		})
	}
}

// A Linode that cannot be read now is read again; the request is neither approved nor reported.
func TestRequestIsJudgedAgainWhenTheAPIFails(t *testing.T) {
	s := proper()
	s.err = errors.New("no answer")
	csr, events, _ := s.run(t, time.Minute)
	if len(csr.Status.Conditions) != 0 || len(events.Of(s.csr.Name)) != 0 {
		t.Errorf("conditions %v, %d events; expected nothing", csr.Status.Conditions, len(events.Of(s.csr.Name)))
	}
}
