package clusterinfo_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
)

// apiServer answers for its version over TLS, and returns its CA with the hash of it.
func apiServer(t *testing.T) (config *rest.Config, ca []byte, hash string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, `{"gitVersion":"v1.35.2"}`)
	}))
	t.Cleanup(server.Close)
	certificate := server.Certificate()
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, ca, "sha256:" + hex.EncodeToString(sum[:])
}

func published(t *testing.T, server string, ca []byte) client.Object {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": string(text)}}
}

func TestWhatNodesJoinIsFoundInTheCluster(t *testing.T) {
	config, ca, hash := apiServer(t)
	for _, test := range []struct {
		name, setting, bundle string
		objects               []client.Object
		endpoint              string
	}{
		{name: "kubeadm", objects: []client.Object{published(t, "https://10.0.0.2:6443", ca)}, endpoint: "10.0.0.2:6443"},
		{name: "kubeadm behind the port of https", objects: []client.Object{published(t, "https://api.example.com", ca)},
			endpoint: "api.example.com:443"},
		{name: "the setting wins", setting: "https://other.example.com:6443", objects: []client.Object{published(t, "https://10.0.0.2:6443", ca)},
			endpoint: "other.example.com:6443"},
		{name: "no cluster-info, as with k3s", setting: "10.0.0.9:6443", endpoint: "10.0.0.9:6443"},
		{name: "nothing known", endpoint: ""},
		{name: "the CA of the settings", bundle: base64.StdEncoding.EncodeToString(ca),
			objects: []client.Object{published(t, "https://10.0.0.2:6443", nil)}, endpoint: "10.0.0.2:6443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(test.objects...).Build()
			reader, err := clusterinfo.NewReader(kube, clusterinfo.Config{Endpoint: test.setting, CABundle: test.bundle, Kube: config})
			if err != nil {
				t.Fatal(err)
			}
			found, err := reader.Cluster(t.Context())
			if err != nil || found.Endpoint != test.endpoint || found.Version != "v1.35.2" || !slices.Equal(found.CACertHashes, []string{hash}) {
				t.Errorf("found %+v, %v; expected %s and %s", found, err, test.endpoint, hash)
			}
		})
	}
}

// authority returns a new CA with the hash of it.
func authority(t *testing.T) (ca []byte, hash string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "next"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Raw}),
		fmt.Sprintf("sha256:%x", sha256.Sum256(own.RawSubjectPublicKeyInfo))
}

// A node that boots while the cluster's CA is replaced gets the hashes of the CAs that are published then.
func TestTheHashesFollowARotationOfTheCA(t *testing.T) {
	config, ca, old := apiServer(t)
	another, next := authority(t)
	clk := clocktesting.NewFakePassiveClock(time.Now())
	info := published(t, "https://10.0.0.2:6443", ca)
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(info).Build()
	reader, err := clusterinfo.NewReader(kube, clusterinfo.Config{Kube: config, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	both := []string{old, next}
	slices.Sort(both)
	for _, step := range []struct {
		ca   []byte
		want []string
	}{{ca, []string{old}}, {slices.Concat(ca, another), both}, {another, []string{next}}} {
		info.(*corev1.ConfigMap).Data = published(t, "https://10.0.0.2:6443", step.ca).(*corev1.ConfigMap).Data
		if err := kube.Update(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		clk.SetTime(clk.Now().Add(10 * time.Second))
		if found, err := reader.Cluster(t.Context()); err != nil || !slices.Equal(found.CACertHashes, step.want) {
			t.Errorf("found %v, %v; want %v", found.CACertHashes, err, step.want)
		}
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	for name, config := range map[string]clusterinfo.Config{
		"address without a port": {Endpoint: "10.0.0.2"}, "bundle that is no base64": {CABundle: "!"},
		"bundle without a certificate": {CABundle: "QUJD"},
	} {
		if _, err := clusterinfo.NewReader(nil, config); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestBrokenClusterInfoIsAnErrorThatNamesIt(t *testing.T) {
	config, _, _ := apiServer(t)
	broken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": "{"}}
	reader, err := clusterinfo.NewReader(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(broken).Build(),
		clusterinfo.Config{Kube: config})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Cluster(t.Context()); err == nil || !strings.Contains(err.Error(), "kube-public/cluster-info") {
		t.Errorf("the error is %v", err)
	}
}
