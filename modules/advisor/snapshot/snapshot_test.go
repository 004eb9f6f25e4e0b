package snapshot_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/objectstore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

const documents = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: plain}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: []
---
# nothing but a comment
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: own}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: []
      expireAfter: Never
  disruption: {consolidateAfter: Never, consolidationPolicy: WhenEmpty, budgets: [{nodes: "3"}]}
---
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "PodList", "items": [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "x"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "x"}, "spec": {"nodeName": "first"}}]},
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"topology.kubernetes.io/region": "us-ord"}}}]}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "x"}, "spec": {"nodeName": "second"}}
`

func TestReadTakesDocumentsAndLists(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(documents))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 2 || s.Pods[0].Name != "a" || s.Pods[0].Spec.NodeName != "second" {
		t.Errorf("pods: %v", s.Pods)
	}
	if s.Skipped["Secret"] != 1 || len(s.Skipped) != 1 {
		t.Errorf("skipped: %v", s.Skipped)
	}
	if s.Region() != "us-ord" {
		t.Errorf("region %q", s.Region())
	}
	own, plain := s.NodePools[0], s.NodePools[1]
	if own.Spec.Disruption.ConsolidateAfter.Duration != nil || own.Spec.Disruption.Budgets[0].Nodes != "3" ||
		own.Spec.Template.Spec.ExpireAfter.Duration != nil || own.Spec.Disruption.ConsolidationPolicy != karpv1.ConsolidationPolicyWhenEmpty {
		t.Errorf("own settings: %+v", own.Spec)
	}
	if d := plain.Spec.Disruption; *d.ConsolidateAfter.Duration != 0 || d.Budgets[0].Nodes != "10%" ||
		d.ConsolidationPolicy != karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized ||
		*plain.Spec.Template.Spec.ExpireAfter.Duration != 720*time.Hour {
		t.Errorf("defaults: %+v", plain.Spec)
	}
}

func TestReadRefusesWhatIsNoObject(t *testing.T) {
	for _, text := range []string{"hello", "a: [", `{"items`, `{"metadata": {"name": "x"}}`, `{"apiVersion": "v1", "kind": "Pod"}`,
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}}`} {
		if s, err := snapshot.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

func TestReadRefusesABoundWithoutANumber(t *testing.T) {
	const of = `{key: cpu, operator: %OP, values: %V}`
	pod := `spec: {affinity: {nodeAffinity: {`
	for field, text := range map[string]string{
		"spec.template.spec.requirements[0]": `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {requirements: [` +
			of + `]}}}}`,
		"spec.requirements[0]": `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: a}, spec: {requirements: [` + of + `]}}`,
		"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]": `{apiVersion: v1, ` +
			`kind: Pod, metadata: {name: a}, ` + pod + `requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [` + of +
			`]}]}}}}}`,
		"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]": `{apiVersion: v1, kind: Pod, ` +
			`metadata: {name: a}, ` + pod + `preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [` + of +
			`]}}]}}}}`,
		"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]": `{` +
			`apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}, spec: {template: {` + pod +
			`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [` + of + `]}]}}}}}}}`,
		"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0]": `{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, ` +
			`spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [` + of + `]}]}}}}`,
	} {
		for _, operator := range []string{"Gt", "Lt", "Gte", "Lte"} {
			for values, accepted := range map[string]bool{`[]`: false, `["4", "5"]`: false, `["many"]`: false, `["4"]`: true} {
				_, err := snapshot.Read(strings.NewReader("# YAML\n" + strings.NewReplacer("%OP", operator, "%V", values).Replace(text)))
				if (err == nil) != accepted || err != nil && !strings.Contains(err.Error(), " "+field+": the operator "+operator+" of the key") {
					t.Errorf("%s, %s %s: %v", field, operator, values, err)
				}
			}
		}
	}
}

func TestReadBoundsQuantitiesThatNoNodeCanHave(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: "1e9999999"}}}]}}`
	read, err := snapshot.Read(strings.NewReader("# YAML\n" + pod))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := snapshot.FromCluster(t.Context(), objectstore.New(huge()))
	if err != nil {
		t.Fatal(err)
	}
	running, err := snapshot.Running(t.Context(), objectstore.New(huge()))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*snapshot.Snapshot{read, cluster, running} {
		if cpu := s.Pods[0].Spec.Containers[0].Resources.Requests["cpu"]; cpu.AsDec().Scale() < -20 || !quantity.AtMax(cpu) {
			t.Errorf("a request of %d digits is kept", -cpu.AsDec().Scale())
		}
	}
}

func huge() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a"}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e9999999")}}}}
	return pod
}

func TestTrimLeavesNothingConfidential(t *testing.T) {
	const secret = "hunter2"
	container := corev1.Container{Name: "main", Image: secret, Command: []string{secret}, Args: []string{secret},
		Env: []corev1.EnvVar{{Name: "PASSWORD", Value: secret}}, Ports: []corev1.ContainerPort{{HostPort: 80}}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", Annotations: map[string]string{
			"example.com/key": secret, karpv1.DoNotDisruptAnnotationKey: "true",
		}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, InitContainers: []corev1.Container{container},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: secret}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: secret, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, Message: secret,
		}}},
	}
	s := &snapshot.Snapshot{Pods: []*corev1.Pod{pod}}
	s.Trim()
	var out bytes.Buffer
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("the dump contains the secret: %s", out.String())
	}
	read, err := snapshot.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	kept := read.Pods[0]
	if kept.Annotations[karpv1.DoNotDisruptAnnotationKey] != "true" || kept.Spec.Containers[0].Ports[0].HostPort != 80 ||
		len(kept.Spec.Volumes) != 1 || kept.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data" {
		t.Errorf("what decides is lost: %+v", kept)
	}
}

func TestFromClusterReadsWhatReadReads(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(documents))
	if err != nil {
		t.Fatal(err)
	}
	read, err := snapshot.FromCluster(t.Context(), objectstore.New(s.Objects()...))
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Objects()) != len(s.Objects()) || read.Pods[0].Name != "a" {
		t.Errorf("%d objects, want %d", len(read.Objects()), len(s.Objects()))
	}
	if _, err := snapshot.FromCluster(t.Context(), fake.NewClientBuilder().Build()); err != nil {
		t.Errorf("a cluster without objects: %v", err)
	}
}
