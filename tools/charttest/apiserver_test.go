package charttest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// api is a client of a real API server that has the custom resources; the others have its address and credentials.
var (
	api        client.Client
	apiConfig  *rest.Config
	kubeconfig []byte
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		return m.Run() // needServer skips
	}
	assets, err := controlplane.Assets("../..")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	environment := &envtest.Environment{CRDs: crds.All(), BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience}
	// Some clusters have it: a client that sets an owner that blocks deletion needs rights on the owner's finalizers.
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	config, err := environment.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
		if err := stopShared(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server of installed charts:", err)
		}
	}()
	apiConfig, kubeconfig = config, environment.KubeConfig
	api, err = client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := waitForNamespace(api, "kube-system"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func needServer(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
}

// patience is how long an API server may take for anything. Beside a busy processor, it took over a minute to remove a definition.
const patience = 3 * time.Minute

// waitForNamespace waits until the API server, which has just started, has made one of its own namespaces.
func waitForNamespace(api client.Reader, name string) error {
	return wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := api.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
			return err == nil, client.IgnoreNotFound(err)
		})
}

// accept checks with a dry run that the API server would create an object; unknown fields are errors.
func accept(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if object.GetNamespace() == "" {
		if namespaced, err := api.IsObjectNamespaced(object); err == nil && namespaced {
			object.SetNamespace("default")
		}
	}
	if err := api.Create(context.Background(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// A real API server takes what the chart renders.
func TestChartIsAccepted(t *testing.T) {
	needServer(t)
	for name, values := range map[string]string{
		"quickstart": ``,
		"everything": `{fullnameOverride: nodes, additionalLabels: {a: b}, additionalAnnotations: {c: d}, imagePullSecrets: [{name: s}], hostNetwork: true,
			dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1]}, extraVolumes: [{name: v, emptyDir: {}}], podLabels: {e: f}, podAnnotations: {g: h},
			additionalClusterRoleRules: [{apiGroups: [batch], resources: [jobs], verbs: [get]}], podDisruptionBudget: {maxUnavailable: 50%},
			controller: {env: [{name: X, value: x}], envFrom: [{configMapRef: {name: m}}], extraVolumeMounts: [{name: v, mountPath: /v}],
			sidecarContainer: [{name: side, image: i}], sidecarVolumeMounts: [{name: v, mountPath: /w}]},
			settings: {featureGates: {nodeOverlay: true, nodeRepair: true, staticCapacity: true}}, admissionPolicy: {enabled: true, exemptUsers: [admin]}, grafanaDashboard: {enabled: true},
			networkPolicy: {enabled: true, metricsFrom: [{namespaceSelector: {}}], extraIngress: [{from: [{podSelector: {}}]}], extraEgress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}}`,
		"secret mounted":     `{apiToken: "", credentialsSecretRef: mine, credentialsSecretMount: true, extraVolumes: [{name: v, emptyDir: {}}], networkPolicy: {enabled: true}}`,
		"secret of the user": `{apiToken: "", credentialsSecretRef: mine, serviceAccount: {annotations: {a: b}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, object := range mustRender(t, "karpenter", quickstart, values).objects {
				accept(t, object)
			}
		})
	}
}

// A real API server takes the manifests in the notes.
func TestManifestsOfNotesAreAccepted(t *testing.T) {
	needServer(t)
	_, rest, _ := strings.Cut(mustRender(t, "karpenter", quickstart).notes, "<<EOF\n")
	// Not indented: a shell takes only a line that is EOF and nothing else for the end.
	manifests, _, found := strings.Cut(rest, "\nEOF\n")
	objects := decode(t, "NOTES.txt", manifests)
	if !found || len(objects) != 2 {
		t.Fatalf("the notes have %d manifests, expected 2:\n%s", len(objects), manifests)
	}
	for _, object := range objects {
		accept(t, object)
	}
}
