package management

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
)

const (
	// Namespace has the Cluster and all its objects.
	Namespace = "fleet"
	version   = "v1beta2"
	loopback  = "127.0.0.1"
	poll      = 100 * time.Millisecond
)

// Config of the controllers. All fields are required.
type Config struct {
	Program    string // the file of controlplane.ClusterAPI
	Manifests  string // the file of Cluster API's CRDs and webhooks
	Kubeconfig string // of an administrator
	Dir        string // state: certificates
	LogDir     string
	Kube       *rest.Config
	Authority  *pki.Authority // of the management cluster
	Provider   []byte         // CRDs of the infrastructure provider
}

// Start installs Cluster API and starts its controllers. The caller ends them with Stop of the returned process. If Start fails after the
// process was started, it returns the process with the error.
func Start(ctx context.Context, cfg Config) (*process.Process, error) {
	manifests, err := os.ReadFile(cfg.Manifests)
	if err != nil {
		return nil, err
	}
	ports, err := plane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	pair, err := cfg.Authority.Server("clusterapi", loopback)
	if err != nil {
		return nil, err
	}
	if err := pair.Write(cfg.Dir, "webhook"); err != nil {
		return nil, err
	}
	definitions, webhooks := split(manifests)
	kube, err := apply(ctx, cfg.Kube, slices.Concat(definitions, cfg.Provider), oneVersion)
	if err != nil {
		return nil, err
	}
	child, err := process.Start(process.Spec{
		Name: "clusterapi", Path: cfg.Program, Dir: cfg.Dir, LogFile: filepath.Join(cfg.LogDir, "clusterapi.log"),
		Env:  []string{"KUBECONFIG=" + cfg.Kubeconfig, "HOME=" + cfg.Dir, "TMPDIR=" + os.TempDir()},
		Args: []string{"--health-port=" + strconv.Itoa(ports[0]), "--webhook-port=" + strconv.Itoa(ports[1]), "--certificates=" + cfg.Dir},
	})
	if err != nil {
		return nil, err
	}
	ready := fmt.Sprintf("http://%s:%d/readyz", loopback, ports[0])
	if err := child.WaitHealthy(ctx, &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}, ready); err != nil {
		return child, err
	}
	if _, err := manifest.Apply(ctx, kube, webhooks,
		func(o *unstructured.Unstructured) { registered(o, ports[1], cfg.Authority.Cert) }); err != nil {
		return child, err
	}
	return child, called(ctx, kube, 2*time.Minute)
}

// called waits until the API server calls the webhooks, which begins a moment after their registration. Until then the API server accepts
// MachineDeployments that the webhooks would complete or refuse. To find out, called creates a MachineDeployment with the version "1" as a
// dry run: the webhooks complete the version to "v1", and refuse "v1".
func called(ctx context.Context, kube ctrlclient.Client, atMost time.Duration) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, poll, atMost, true, func(ctx context.Context) (bool, error) {
		last = "it takes a MachineDeployment of version 1"
		if err := kube.Create(ctx, ofVersionOne(), ctrlclient.DryRunAll); err != nil {
			last = err.Error()
		}
		return strings.Contains(last, "must be a valid semantic version") && !strings.Contains(last, "must start with v"), nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not call Cluster API's webhooks: %w: %s", err, last)
	}
	return nil
}

func ofVersionOne() *unstructured.Unstructured {
	labels, secret := map[string]any{"deployment": "none"}, map[string]any{"dataSecretName": "none"}
	linodes := map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "LinodeMachineTemplate", "name": "none"}
	machine := map[string]any{"clusterName": "none", "version": "1", "bootstrap": secret, "infrastructureRef": linodes}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/" + version, "kind": "MachineDeployment",
		"metadata": map[string]any{"namespace": "default", "name": "none"},
		"spec": map[string]any{
			"clusterName": "none", "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": machine},
		},
	}}
}

// split separates the CRDs from the webhooks.
func split(manifests []byte) (definitions, webhooks []byte) {
	const separator = "\n---\n"
	for document := range bytes.SplitSeq(append([]byte("\n"), manifests...), []byte(separator)) {
		to := &webhooks
		if bytes.Contains(document, []byte("\nkind: CustomResourceDefinition\n")) {
			to = &definitions
		}
		*to = append(append(*to, document...), separator...)
	}
	return definitions, webhooks
}

// apply applies CRDs, waits until the API server serves them, and returns a client that knows their kinds.
func apply(ctx context.Context, config *rest.Config, definitions []byte,
	change func(*unstructured.Unstructured)) (ctrlclient.Client, error) {
	kube, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		return nil, err
	}
	applied, err := manifest.Apply(ctx, kube, definitions, change)
	if err != nil {
		return nil, fmt.Errorf("cluster API's definitions: %w", err)
	}
	for _, definition := range applied {
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(definition), definition)
			status, _ := condition(definition, "Established")
			return err == nil && status == "True", ctrlclient.IgnoreNotFound(err)
		})
		if err != nil {
			return nil, fmt.Errorf("definition %s is not served: %w", definition.GetName(), err)
		}
	}
	return kube, nil
}

// condition returns the status and message of an object's condition; both are "" if the object has no such condition.
func condition(o *unstructured.Unstructured, of string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, is := c.(map[string]any); is && fields["type"] == of {
			status, _ = fields["status"].(string)
			message, _ = fields["message"].(string)
		}
	}
	return status, message
}

// oneVersion removes all versions but v1beta2 from a CRD of Cluster API, and adds the label by which Cluster API's controllers find the
// version of a contract.
func oneVersion(definition *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	kept := slices.DeleteFunc(slices.Clone(versions), func(v any) bool { return v.(map[string]any)["name"] != version })
	if len(kept) == 0 {
		return // a CRD of the infrastructure provider
	}
	_ = unstructured.SetNestedSlice(definition.Object, kept, "spec", "versions")
	labels := definition.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["cluster.x-k8s.io/"+version] = version
	definition.SetLabels(labels)
}

// served are the resources whose webhooks the program has.
var served = []string{"clusters", "machines", "machinesets", "machinedeployments", "kubeadmconfigs", "kubeadmconfigtemplates"}

// registered changes a list of webhooks: it keeps the program's webhooks, and the API server calls them by URL. The lists of both providers
// have the same name, so it puts the API group before the name.
func registered(list *unstructured.Unstructured, port int, authority []byte) {
	webhooks, _, _ := unstructured.NestedSlice(list.Object, "webhooks")
	var kept []any
	for _, w := range webhooks {
		webhook := w.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(webhook, "rules")
		rule := rules[0].(map[string]any)
		if !slices.Contains(served, rule["resources"].([]any)[0].(string)) {
			continue
		}
		if len(kept) == 0 {
			group, _, _ := strings.Cut(rule["apiGroups"].([]any)[0].(string), ".")
			list.SetName(group + "-" + list.GetName())
		}
		path, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		webhook["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://%s:%d%s", loopback, port, path), "caBundle": base64.StdEncoding.EncodeToString(authority),
		}
		kept = append(kept, webhook)
	}
	_ = unstructured.SetNestedSlice(list.Object, kept, "webhooks")
}

// Fleet describes the Cluster and its first MachineDeployments.
type Fleet struct {
	Name    string // of the Cluster
	Port    int    // of the API server on loopback
	Region  string
	Version string // of Kubernetes, as v1.36.3
	Own     string // the label of the user's own Linode
	OwnType string
	OwnID   int
	// Plans are the plans of the MachineDeployments. Each MachineDeployment is named after its plan.
	Plans     []string
	Authority pki.Pair // of the cluster
}

//go:embed fleet.yaml
var fleet string

// Apply makes the objects of the Cluster, and waits until the Cluster's condition ControlPlaneInitialized is true, which nodes need to
// join.
func (f Fleet) Apply(ctx context.Context, config *rest.Config) error {
	parsed, err := template.New("").Funcs(template.FuncMap{"base64": base64.StdEncoding.EncodeToString}).Parse(fleet)
	if err != nil {
		return err
	}
	var objects bytes.Buffer
	if err := parsed.Execute(&objects, f); err != nil {
		return err
	}
	kube, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		return err
	}
	applied, err := manifest.Apply(ctx, kube, objects.Bytes())
	if err != nil {
		return fmt.Errorf("the Cluster's objects: %w", err)
	}
	at := slices.IndexFunc(applied, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Cluster" })
	cluster, message := applied[at], ""
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(cluster), cluster); err != nil {
			return false, err
		}
		var status string
		status, message = condition(cluster, "ControlPlaneInitialized")
		return status == "True", nil
	})
	if err != nil {
		return fmt.Errorf("the Cluster is not initialized: %w: %s", context.Cause(ctx), message)
	}
	return nil
}
