package clusterapi

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

const (
	otherTemplate = `{kind: OtherMachineTemplate, metadata: {name: other}}`
	withCapacity  = `{kind: OtherMachineTemplate, metadata: {name: other}, status: {capacity: {cpu: "4", memory: 8Gi}}}`
	planTemplate  = `{kind: LinodeMachineTemplate, metadata: {name: a}, spec: {template: {spec: {type: g6-standard-2, region: us-ord}}}}`
)

// The facts about a node before one exists: from CAPL's template by its type, from status.capacity, or from the cluster autoscaler's
// annotations (README of its provider clusterapi, "Scale from zero support").
func TestTheShapeOfADeploymentIsThatOfItsTemplates(t *testing.T) {
	for name, test := range map[string]struct {
		template    string
		annotations map[string]string
		want        string // type, region, capacity of cpu, memory and GPUs, price
		problem     string
	}{
		"a plan": {planTemplate, nil, "g6-standard-2 us-ord 0 0 0 0", ""},
		"a plan by contract": {planTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "0.02"},
			"g6-standard-2 us-ord 0 0 0 0.02", ""},
		"a price that is none": {planTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "cheap"}, "", `"cheap"`},
		"a price of infinity":  {planTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "+Inf"}, "", `"+Inf"`},
		"a price of nothing":   {planTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "0"}, "", `"0"`},
		"a template without a type": {`{kind: LinodeMachineTemplate, metadata: {name: a}}`, nil, "  0 0 0 0",
			"LinodeMachineTemplate a has no spec.template.spec.type"},
		"capacity in the status": {withCapacity, map[string]string{clusterapi.HourlyPriceAnnotation: "1"}, "d  4 8Gi 0 1", ""},
		"capacity in annotations": {otherTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "1", capacityPrefix + "cpu": "2",
			capacityPrefix + "memory": "4Gi", capacityPrefix + "gpu-count": "1"}, "d  2 4Gi 1 1", ""},
		"annotations before the status": {withCapacity, map[string]string{clusterapi.HourlyPriceAnnotation: "1", capacityPrefix + "cpu": "2"},
			"d  2 8Gi 0 1", ""},
		"a name for the type": {withCapacity, map[string]string{clusterapi.HourlyPriceAnnotation: "1",
			capacityPrefix + "labels": "node.kubernetes.io/instance-type=big"}, "big  4 8Gi 0 1", ""},
		"no capacity": {otherTemplate, map[string]string{clusterapi.HourlyPriceAnnotation: "1"}, "d  0 0 0 1", capacityPrefix + "cpu"},
		"no price":    {withCapacity, nil, "d  4 8Gi 0 0", clusterapi.HourlyPriceAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			s := shapeOf(clusterapi.Deployment{Name: "d", Annotations: test.annotations}, parse(t, test.template), nil)
			gpus := s.capacity["nvidia.com/gpu"]
			got := fmt.Sprint(s.instanceType, " ", s.region, " ", s.capacity.Cpu(), " ", s.capacity.Memory(), " ", gpus.String(), " ", s.price)
			if test.want != "" && got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !strings.Contains(s.problem, test.problem) || (test.problem == "") != (s.problem == "") {
				t.Errorf("the problem is %q, want %q", s.problem, test.problem)
			}
		})
	}
}

// Cluster API copies labels of Machines to Nodes below three domains alone; others come by the kubelet's arguments.
func TestLabelsAndTaintsOfNodesAreKnownBeforeOneExists(t *testing.T) {
	d := clusterapi.Deployment{
		NodeLabels: map[string]string{"node.cluster.x-k8s.io/pool": "a", "node-role.kubernetes.io/worker": "",
			"sub.node-restriction.kubernetes.io/x": "y",
			"team":                                 "not copied"},
		Taints: []clusterapi.Taint{{Key: "of-machine", Value: "v", Effect: "NoSchedule"}},
		Annotations: map[string]string{capacityPrefix + "labels": "by=annotation, and=another",
			capacityPrefix + "taints": "by-annotation=v:NoExecute"},
	}
	bootstrap := parse(t, `{kind: KubeadmConfigTemplate, spec: {template: {spec: {joinConfiguration: {nodeRegistration: {
		kubeletExtraArgs: [{name: node-labels, value: "by-kubelet=b"}, {name: register-with-taints, value: "kubelet=:NoSchedule"}],
		taints: [{key: by-kubeadm, effect: PreferNoSchedule}]}}}}}}`)
	s := shapeOf(d, parse(t, planTemplate), bootstrap)
	want := map[string]string{"node.cluster.x-k8s.io/pool": "a", "node-role.kubernetes.io/worker": "",
		"sub.node-restriction.kubernetes.io/x": "y",
		"by":                                   "annotation", "and": "another", "by-kubelet": "b"}
	if fmt.Sprint(s.labels) != fmt.Sprint(want) {
		t.Errorf("labels %v, want %v", s.labels, want)
	}
	taints := fmt.Sprint(s.taints)
	if taints != "[{of-machine v NoSchedule} {by-annotation v NoExecute} {kubelet  NoSchedule} {by-kubeadm  PreferNoSchedule}]" {
		t.Errorf("taints %s", taints)
	}
	if s.instanceType != "g6-standard-2" || s.capacity != nil {
		t.Errorf("%+v", s)
	}
	if pods := capacityOf(d, parse(t, withCapacity))[corev1.ResourcePods]; pods.Value() != 110 {
		t.Errorf("%s pods, want the kubelet's default", pods.String())
	}
}
