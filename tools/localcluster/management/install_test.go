package management

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

const manifests = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.cluster.x-k8s.io}
spec: {versions: [{name: v1beta1}, {name: v1beta2}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- clientConfig: {service: {name: a, namespace: system, path: /mutate-machine}}
  name: machine
  rules: [{apiGroups: [cluster.x-k8s.io], resources: [machines]}]
- clientConfig: {service: {name: a, namespace: system, path: /mutate-class}}
  name: class
  rules: [{apiGroups: [cluster.x-k8s.io], resources: [clusterclasses]}]
`

// A kind that the program does not serve is not registered, and only one version is served.
func TestDefinitionsAndWebhooksAreAdapted(t *testing.T) {
	definitions, webhooks := split([]byte(manifests))
	definition, list := parsed(t, definitions), parsed(t, webhooks)
	oneVersion(definition)
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if len(versions) != 1 || definition.GetLabels()["cluster.x-k8s.io/v1beta2"] != "v1beta2" {
		t.Errorf("versions %v, labels %v", versions, definition.GetLabels())
	}
	registered(list, 9443, []byte("authority"))
	all, _, _ := unstructured.NestedSlice(list.Object, "webhooks")
	names := []string{}
	for _, w := range all {
		name, _, _ := unstructured.NestedString(w.(map[string]any), "name")
		url, _, _ := unstructured.NestedString(w.(map[string]any), "clientConfig", "url")
		names = append(names, name+" "+url)
	}
	if !slices.Equal(names, []string{"machine https://127.0.0.1:9443/mutate-machine"}) || list.GetName() != "cluster-mutating" {
		t.Errorf("%s: %v", list.GetName(), names)
	}
}

func parsed(t *testing.T, document []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(document[:len(document)-len("---\n")], &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAConditionIsFoundByItsType(t *testing.T) {
	for name, c := range map[string]struct{ object, status, message string }{
		"no conditions": {`{}`, "", ""},
		"not yet":       {`{conditions: [{type: ControlPlaneInitialized, status: "False", message: waits}]}`, "False", "waits"},
		"it is":         {`{conditions: [{type: Ready, status: "False"}, {type: ControlPlaneInitialized, status: "True"}]}`, "True", ""},
	} {
		o := parsed(t, []byte("kind: Cluster\nstatus: "+c.object+"\n---\n"))
		if status, message := condition(o, "ControlPlaneInitialized"); status != c.status || message != c.message {
			t.Errorf("%s: %q %q", name, status, message)
		}
	}
}

// Mutating and validating webhooks are registered separately.
func TestTheWebhooksAreCalledWhenBothKindsAre(t *testing.T) {
	const refusal = "must be a valid semantic version"
	answering := func(answers ...string) ctrlclient.Client {
		return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Create: func(context.Context, ctrlclient.WithWatch, ctrlclient.Object, ...ctrlclient.CreateOption) error {
				answer := answers[0]
				answers = answers[min(1, len(answers)-1):]
				if answer == "" {
					return nil
				}
				return errors.New(answer)
			},
		}).Build()
	}
	if err := called(t.Context(), answering("", "must start with v, "+refusal, refusal), time.Minute); err != nil {
		t.Error(err)
	}
	for _, answer := range []string{"", "must start with v, " + refusal, "connection refused"} {
		const begins = "the API server does not call Cluster API's webhooks"
		err := called(t.Context(), answering(answer), 2*poll)
		if err == nil || !strings.HasPrefix(err.Error(), begins) || !strings.Contains(err.Error(), answer) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
