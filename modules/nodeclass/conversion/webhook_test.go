package conversion_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/conversion"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// webhook answers the API server's requests as the operator is going to.
func webhook(w http.ResponseWriter, r *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		err := object.UnmarshalJSON(raw.Raw)
		if err == nil && review.Request.DesiredAPIVersion == conversion.V1 {
			object.Object, err = conversion.ToV1(object.Object)
		} else if err == nil {
			object.Object, err = conversion.ToV1alpha1(object.Object)
		}
		if err != nil {
			review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// withV1 is the definition of LinodeNodeClass with both versions, of which v1 is stored.
func withV1(t *testing.T, server *httptest.Server) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	for _, definition := range crds.All() {
		if definition.Spec.Names.Kind != v1alpha1.Kind {
			continue
		}
		v1 := definition.Spec.Versions[0].DeepCopy()
		v1.Name = "v1"
		definition.Spec.Versions[0].Storage = false
		definition.Spec.Versions = append(definition.Spec.Versions, *v1)
		definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: ptr.To(server.URL),
					CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}}}
		return definition
	}
	t.Fatal("there is no definition of LinodeNodeClass")
	return nil
}

// The API server stores v1 and serves both versions; it refuses a conversion that changes more of the metadata than labels and annotations.
func TestAnAPIServerConvertsByThisPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	server := httptest.NewTLSServer(http.HandlerFunc(webhook))
	t.Cleanup(server.Close)
	environment, err := apiserver.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	definitions := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{withV1(t, server)}}
	if _, err := envtest.InstallCRDs(environment.Config, definitions); err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(environment.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(version string) *unstructured.Unstructured {
		t.Helper()
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.Group, Version: version, Kind: v1alpha1.Kind})
		if err := kube.Get(t.Context(), client.ObjectKey{Name: "a"}, object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	has := func(object *unstructured.Unstructured, want bool, path ...string) {
		t.Helper()
		if _, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...); found != want {
			t.Errorf("%v: %v in %v", path, found, object.Object)
		}
	}
	old := &unstructured.Unstructured{Object: parsed(t, alpha+"metadata: {name: a}\nspec: {swap_size: 512, placementGroup: {id: 7}}")}
	if err := kube.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	has(read("v1alpha1"), true, "spec", "swap_size")
	has(read("v1alpha1"), true, "spec", "placementGroup")
	has(read("v1alpha1"), false, "metadata", "annotations")
	v1 := read("v1")
	has(v1, true, "spec", "swapSize")
	has(v1, false, "spec", "swap_size")
	has(v1, true, "spec", "placementGroups")

	if err := unstructured.SetNestedField(v1.Object, int64(1024), "spec", "swapSize"); err != nil {
		t.Fatal(err)
	}
	if err := kube.Update(t.Context(), v1); err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(read("v1alpha1").Object, "spec", "swap_size"); size != 1024 {
		t.Errorf("swap_size is %d after a change under v1", size)
	}
}
