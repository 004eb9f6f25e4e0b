package clusterapi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// linodeTemplate is CAPL's kind, api/v1alpha2/linodemachinetemplate_types.go of linode/cluster-api-provider-linode. Its status has no
// capacity.
const linodeTemplate = "LinodeMachineTemplate"

// capacityPrefix begins the annotations that tell the cluster autoscaler the size of nodes of an empty deployment. The README of the
// autoscaler's provider clusterapi lists these annotations.
const capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"

// shape has the facts about Machines that the templates of their deployment determine.
type shape struct {
	instanceType string
	region       string // "" where the template has none
	// capacity is nil for a plan in Linode's catalogue.
	capacity corev1.ResourceList
	// price is in USD per hour; 0 stands for the catalogue's price.
	price  float64
	labels map[string]string
	taints []clusterapi.Taint
	// problem is the reason why no Machine of the deployment can be planned, with the remedy.
	problem string
}

// shapeOf derives the shape of a deployment from its templates. bootstrap is nil if the deployment names no bootstrap template.
func shapeOf(d clusterapi.Deployment, template, bootstrap *unstructured.Unstructured) shape {
	s := shape{labels: nodeLabels(d, bootstrap), taints: nodeTaints(d, bootstrap)}
	if text, set := d.Annotations[clusterapi.HourlyPriceAnnotation]; set {
		price, err := strconv.ParseFloat(text, 64)
		if err != nil || !(price > 0) || math.IsInf(price, 1) {
			s.problem = fmt.Sprintf("annotation %s is %q; set it to a price in USD such as 0.05, or remove it",
				clusterapi.HourlyPriceAnnotation, text)
			return s
		}
		s.price = price
	}
	if template.GetKind() == linodeTemplate {
		s.instanceType, _, _ = unstructured.NestedString(template.Object, "spec", "template", "spec", "type")
		s.region, _, _ = unstructured.NestedString(template.Object, "spec", "template", "spec", "region")
		if s.instanceType == "" {
			s.problem = fmt.Sprintf("%s %s has no spec.template.spec.type", linodeTemplate, template.GetName())
		}
		return s
	}
	s.instanceType = s.labels[corev1.LabelInstanceTypeStable]
	if s.instanceType == "" {
		s.instanceType = d.Name
	}
	s.capacity = capacityOf(d, template)
	switch {
	case s.capacity.Cpu().IsZero() || s.capacity.Memory().IsZero():
		s.problem = fmt.Sprintf("the capacity of %s %s is not known; set status.capacity there, or the annotations %scpu and "+
			"%smemory on the deployment", template.GetKind(), template.GetName(), capacityPrefix, capacityPrefix)
	case s.price == 0:
		s.problem = fmt.Sprintf("the price of %s %s is not known; set the annotation %s on the deployment", template.GetKind(),
			template.GetName(), clusterapi.HourlyPriceAnnotation)
	}
	return s
}

// capacityOf returns status.capacity of a template. Annotations of the deployment override it.
func capacityOf(d clusterapi.Deployment, template *unstructured.Unstructured) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	set := func(name corev1.ResourceName, text string) {
		if quantity, err := resource.ParseQuantity(text); err == nil {
			list[name] = quantity
		}
	}
	reported, _, _ := unstructured.NestedStringMap(template.Object, "status", "capacity")
	for name, text := range reported {
		set(corev1.ResourceName(name), text)
	}
	for annotation, name := range map[string]corev1.ResourceName{
		"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "ephemeral-disk": corev1.ResourceEphemeralStorage,
		"maxPods": corev1.ResourcePods, "gpu-count": v1alpha1.ResourceNvidiaGPU,
	} {
		if text, is := d.Annotations[capacityPrefix+annotation]; is {
			set(name, text)
		}
	}
	return list
}

// propagated reports whether Cluster API copies a label from a Machine to its Node (machine_types.go of v1beta2).
func propagated(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, of := range []string{"node.cluster.x-k8s.io", "node-restriction.kubernetes.io"} {
		if domain == of || strings.HasSuffix(domain, "."+of) {
			return true
		}
	}
	return domain == "node-role.kubernetes.io"
}

// nodeLabels returns the labels of nodes that are known before a node exists.
func nodeLabels(d clusterapi.Deployment, bootstrap *unstructured.Unstructured) map[string]string {
	labels := map[string]string{}
	for key, value := range d.NodeLabels {
		if propagated(key) {
			labels[key] = value
		}
	}
	for pair := range strings.SplitSeq(d.Annotations[capacityPrefix+"labels"]+","+kubeletArgument(bootstrap, "node-labels"), ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			labels[key] = value
		}
	}
	return labels
}

// nodeTaints returns the taints of nodes that are known before a node exists.
func nodeTaints(d clusterapi.Deployment, bootstrap *unstructured.Unstructured) []clusterapi.Taint {
	taints := append([]clusterapi.Taint{}, d.Taints...)
	texts := d.Annotations[capacityPrefix+"taints"] + "," + kubeletArgument(bootstrap, "register-with-taints")
	for text := range strings.SplitSeq(texts, ",") {
		pair, effect, ok := strings.Cut(strings.TrimSpace(text), ":")
		if key, value, _ := strings.Cut(pair, "="); ok {
			taints = append(taints, clusterapi.Taint{Key: key, Value: value, Effect: effect})
		}
	}
	if bootstrap == nil {
		return taints
	}
	list, _, _ := unstructured.NestedSlice(bootstrap.Object, append(registration(), "taints")...)
	for _, item := range list {
		if taint, ok := item.(map[string]any); ok {
			text := func(key string) string { value, _ := taint[key].(string); return value }
			taints = append(taints, clusterapi.Taint{Key: text("key"), Value: text("value"), Effect: text("effect")})
		}
	}
	return taints
}

// registration is the path at which a KubeadmConfigTemplate describes the node (api/bootstrap/kubeadm/v1beta2 of Cluster API).
func registration() []string {
	return []string{"spec", "template", "spec", "joinConfiguration", "nodeRegistration"}
}

// kubeletArgument returns an argument of the kubelet in a KubeadmConfigTemplate, "" for none.
func kubeletArgument(bootstrap *unstructured.Unstructured, name string) string {
	if bootstrap == nil {
		return ""
	}
	list, _, _ := unstructured.NestedSlice(bootstrap.Object, append(registration(), "kubeletExtraArgs")...)
	for _, item := range list {
		if argument, ok := item.(map[string]any); ok && argument["name"] == name {
			value, _ := argument["value"].(string)
			return value
		}
	}
	return ""
}
