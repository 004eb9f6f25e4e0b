package karpentercore_test

import (
	"context"
	"os"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

var apiServer = apiserver.Shared{Definitions: crds.All()}

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

func TestAPatchFromTheCacheTakesNothingAway(t *testing.T) {
	environment := apiServer.Environment(t)
	kube, err := client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	must(t, err)
	t.Run("node", func(t *testing.T) { aNodeKeepsItsImages(t, environment.Config, kube) })
	t.Run("pod", func(t *testing.T) { aPodKeepsItsContents(t, environment.Config, kube) })
}

func aNodeKeepsItsImages(t *testing.T, config *rest.Config, kube client.Client) {
	ctx := t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cached", Labels: map[string]string{"team": "a"}}}
	must(t, kube.Create(ctx, node))
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}, SizeBytes: 1}}
	node.Status.NodeInfo.KubeletVersion = "v1.34.0"
	must(t, kube.Status().Update(ctx, node))

	cached := &corev1.Node{}
	fromCache(t, config, client.ObjectKeyFromObject(node), cached)
	if len(cached.ManagedFields) > 0 || len(cached.Status.Images) > 0 || cached.Labels["team"] != "a" ||
		cached.Status.NodeInfo.KubeletVersion != "v1.34.0" {
		t.Errorf("the cache has %+v", cached)
	}
	stored := cached.DeepCopy()
	cached.Labels["team"] = "b"
	must(t, kube.Patch(ctx, cached, client.MergeFrom(stored)))
	must(t, kube.Status().Patch(ctx, cached, client.MergeFrom(stored)))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(node), node))
	if node.Labels["team"] != "b" || len(node.Status.Images) != 1 || len(node.ManagedFields) == 0 {
		t.Errorf("after the patch: %+v", node)
	}
}

func aPodKeepsItsContents(t *testing.T, config *rest.Config, kube client.Client) {
	ctx, pod := t.Context(), fullPod()
	must(t, kube.Create(ctx, pod))
	cached := &corev1.Pod{}
	fromCache(t, config, client.ObjectKeyFromObject(pod), cached)
	if len(cached.ManagedFields) > 0 || len(cached.Spec.Volumes) != 1 || len(cached.Spec.Containers[0].Env) > 0 {
		t.Errorf("the cache has %+v", cached)
	}
	stored := cached.DeepCopy()
	cached.Labels["app"] = "patched"
	must(t, kube.Patch(ctx, cached, client.MergeFrom(stored)))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(pod), pod))
	if pod.Labels["app"] != "patched" || len(pod.Spec.Volumes) != 2 || len(pod.Spec.Containers[0].Env) != 1 ||
		pod.Annotations[corev1.LastAppliedConfigAnnotation] == "" || len(pod.ManagedFields) == 0 {
		t.Errorf("after the patch: %+v", pod)
	}
}

func fromCache(t *testing.T, config *rest.Config, key client.ObjectKey, object client.Object) {
	t.Helper()
	options := karpentercore.CacheOptions()
	options.Scheme = scheme.Scheme
	objects, err := cache.New(config, options)
	must(t, err)
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(running) }()
	if !objects.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache did not start")
	}
	must(t, objects.Get(t.Context(), key, object))
	stop()
	must(t, <-ended)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRequestsOfKubeletsAreCachedWhole(t *testing.T) {
	var transform func(any) (any, error)
	for object, by := range karpentercore.CacheOptions().ByObject {
		if _, is := object.(*certificatesv1.CertificateSigningRequest); is {
			transform = by.Transform
			if by.Field != nil {
				t.Errorf("only requests with %s are cached", by.Field)
			}
		}
	}
	long, err := transform(&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Username: "system:bootstrap:abcdef", Request: make([]byte, 1<<20)}})
	if csr := long.(*certificatesv1.CertificateSigningRequest); err != nil || len(csr.Spec.Request) > 0 || csr.Spec.Username == "" {
		t.Errorf("of a request of a megabyte the cache keeps %d bytes, %v", len(csr.Spec.Request), err)
	}
	for signer, whole := range map[string]bool{
		certificatesv1.KubeletServingSignerName: true, certificatesv1.KubeAPIServerClientKubeletSignerName: true, "example.com/other": false,
	} {
		cached, err := transform(&certificatesv1.CertificateSigningRequest{
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Request: []byte("request")},
		})
		csr := cached.(*certificatesv1.CertificateSigningRequest)
		if err != nil || csr.Spec.SignerName != signer || (len(csr.Spec.Request) > 0) != whole {
			t.Errorf("%s: %v, %+v", signer, err, csr.Spec)
		}
	}
}
