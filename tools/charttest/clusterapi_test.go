package charttest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const clusterAPIMode = `{region: us-ord, settings: {mode: clusterapi, clusterAPI: {namespace: fleet}}}`

// The rights that only clusterapi mode has, all in the namespace of the Cluster. The operator can create and delete nothing there.
func TestRightsOfClusterAPIMode(t *testing.T) {
	r := mustRender(t, "karpenter", quickstart, clusterAPIMode)
	const name = "karpenter-clusterapi"
	got, bound := get[rbacv1.Role](t, r, "Role", name), get[rbacv1.RoleBinding](t, r, "RoleBinding", name)
	want := []string{"kubeadmconfigtemplates: get", "linodemachines: list", "linodemachinetemplates: get", "machinedeployments/scale: update",
		"machinedeployments: list patch", "machinepools: list", "machines: list patch", "machinesets/scale: update", "machinesets: list"}
	if got.Namespace != "fleet" || !reflect.DeepEqual(byResource(got.Rules), want) {
		t.Errorf("in %s: %q", got.Namespace, byResource(got.Rules))
	}
	if bound.Namespace != "fleet" || bound.RoleRef.Name != name || len(bound.Subjects) != 1 || bound.Subjects[0].Name != "karpenter" ||
		bound.Subjects[0].Namespace != "kube-system" {
		t.Errorf("it is bound by %+v", bound)
	}
	env := environment(t, quickstart, clusterAPIMode)
	if env["KARPENTER_MODE"] != "clusterapi" || env["CLUSTERAPI_NAMESPACE"] != "fleet" {
		t.Errorf("the environment is %v", env)
	}
	if file, set := env["CLUSTERAPI_KUBECONFIG"]; set {
		t.Errorf("CLUSTERAPI_KUBECONFIG is %q in a cluster that manages itself", file)
	}
}

// byResource returns the verbs of each resource over all rules.
func byResource(rules []rbacv1.PolicyRule) []string {
	verbs := map[string][]string{}
	for _, rule := range rules {
		for _, of := range rule.Resources {
			verbs[of] = append(verbs[of], rule.Verbs...)
		}
	}
	var all []string
	for of, may := range verbs {
		slices.Sort(may)
		all = append(all, of+": "+strings.Join(may, " "))
	}
	slices.Sort(all)
	return all
}

// With a management cluster apart its kubeconfig is a file, and rights there are not this chart's to give.
func TestManagementClusterApart(t *testing.T) {
	const apart = `settings: {clusterAPI: {kubeconfigSecret: management}}`
	r := mustRender(t, "karpenter", quickstart, clusterAPIMode, apart)
	file := environment(t, quickstart, clusterAPIMode, apart)["CLUSTERAPI_KUBECONFIG"]
	pod := get[appsv1.Deployment](t, r, "Deployment", "karpenter").Spec.Template.Spec
	mounted := false
	for _, volume := range pod.Volumes {
		if volume.Secret == nil || volume.Secret.SecretName != "management" {
			continue
		}
		for _, mount := range pod.Containers[0].VolumeMounts {
			mounted = mounted || mount.Name == volume.Name && mount.ReadOnly && volume.Secret.Items[0].Key == "value" &&
				mount.MountPath+"/"+volume.Secret.Items[0].Path == file
		}
	}
	if !mounted {
		t.Errorf("CLUSTERAPI_KUBECONFIG is %q, and no mounted Secret has it: %+v", file, pod.Volumes)
	}
	for _, name := range r.names() {
		if strings.HasSuffix(name, "/karpenter-clusterapi") {
			t.Errorf("there is %s", name)
		}
	}
}

func TestClusterAPIModeNeedsItsNamespaceAndRegion(t *testing.T) {
	for missing, values := range map[string]string{
		"settings.clusterAPI.namespace is not set": `{region: us-ord, settings: {mode: clusterapi}}`,
		"region is not set":                        `{settings: {mode: clusterapi, clusterAPI: {namespace: fleet}}}`,
	} {
		if _, err := render(t, "karpenter", quickstart, values); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without it: %v; want %q", err, missing)
		}
	}
}
