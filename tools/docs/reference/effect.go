package reference

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	opstatus "github.com/awslabs/operatorpkg/status"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// examples has a JSON value for each field of the spec that needs another value than the values in plain.
var examples = map[string]string{
	"bootstrap":                 `{"type":"kubeadm"}`,
	"configuration":             `{"kernel":"linode/grub2"}`,
	"dataDisks":                 `{"sdb":{"size":"1Gi"}}`,
	"imageSelector":             `{"label":"kubernetes-*"}`,
	"interfaces":                `[{"type":"public"}]`,
	"placementGroups":           `[{"id":1},{"id":2}]`,
	"isolation":                 `{"publicIPv4":false}`,
	"ipv6Options":               `{"enableSLAAC":true}`,
	"kubelet":                   `{"maxPods":50}`,
	"lkeK8sVersion":             `"v1.33.6+lke7"`,
	"machineDeploymentSelector": `{"matchLabels":{"pool":"general"}}`,
	"osDisk":                    `{"size":"20Gi"}`,
	"placementGroup":            `{"id":1}`,
	"tags":                      `["team=a"]`,
}

// plain has values for all other fields. A field gets the first value that its Go type accepts.
var plain = []string{`true`, `1`, `"text"`, `["text"]`}

// classWith returns a class with an example of one field.
func classWith(name string) (*v1alpha1.LinodeNodeClass, error) {
	candidates := plain
	if example, ok := examples[name]; ok {
		candidates = []string{example}
	}
	var err error
	for _, example := range candidates {
		class := &v1alpha1.LinodeNodeClass{}
		if err = json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, name, example), &class.Spec); err == nil {
			return class, nil
		}
	}
	return nil, fmt.Errorf("the field %s has no example in reference/effect.go: %w", name, err)
}

// The modes of fields that have no effect on LKE.
const (
	modeInstance   = "instance"
	modeClusterAPI = "clusterapi"
)

// estimated is the mode of kubelet settings that also change the estimate of a node's capacity.
const estimated = "instance; in lke and clusterapi the estimate of capacity"

// effect describes where a field of the spec has an effect, and what a change of it does.
type effect struct{ modes, change string }

// effectOf computes the effect of a field: it evaluates a class with the field in each mode, and compares the hashes of the class with and
// without the field.
func effectOf(name string) (effect, error) {
	class, err := classWith(name)
	if err != nil {
		return effect{}, err
	}
	empty := &v1alpha1.LinodeNodeClass{}
	if name == "vpcID" || name == "interfaces" || name == "ipv6Options" {
		class.Spec.VPCID, class.Spec.SubnetID = new(1), new(1) // the named field is valid only with both
		empty.Spec.VPCID, empty.Spec.SubnetID = class.Spec.VPCID, class.Spec.SubnetID
	}
	e := effect{modes: modesOf(class)}
	switch {
	case name == "kubelet":
		e.modes, e.change = estimated, "replaces nodes in instance mode"
	case name == "machineDeploymentSelector":
		e.change = "replaces nodes of deployments that are no longer selected"
	case name == "imageSelector":
		e.modes, e.change = modeInstance, "follows imageDriftPolicy" // not computed: a selector needs an account with images
	case name == "vpcID":
		e.change = "replaces nodes"
	case name == "tags":
		e.change = "is applied to running Linodes"
	case name == "firewallID":
		e.change = "replaces nodes in lke mode; is applied to running Linodes in instance mode"
	case class.Hash(v1alpha1.ModeLKE) != empty.Hash(v1alpha1.ModeLKE):
		e.change = "replaces nodes"
	case e.modes == modeInstance && class.Hash(v1alpha1.ModeInstance) != empty.Hash(v1alpha1.ModeInstance):
		e.change = "replaces nodes"
	default:
		e.change = "keeps nodes"
	}
	return e, nil
}

// modesOf returns the modes in which the only field of a class has an effect.
func modesOf(class *v1alpha1.LinodeNodeClass) string {
	standard := status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierStandard, Region: "us-ord", ControlPlaneVersion: "1.35"}
	enterprise := status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierEnterprise, Region: "us-ord", ControlPlaneVersion: "v1.33.6+lke7"}
	instance := status.Cluster{Mode: v1alpha1.ModeInstance, Region: "us-ord", ControlPlaneVersion: "v1.35.1"}
	clusterAPI := status.Cluster{Mode: v1alpha1.ModeClusterAPI, Region: "us-ord", ControlPlaneVersion: "v1.35.1"}
	works := func(cluster status.Cluster) bool {
		result := status.Evaluate(context.Background(), class, cluster, nil)
		return result.Ready() && !slices.ContainsFunc(result.Conditions, func(c opstatus.Condition) bool {
			return c.Reason == v1alpha1.ReasonFieldsWithoutEffect
		})
	}
	switch onStandard, onEnterprise, inInstance := works(standard), works(enterprise), works(instance); {
	case onStandard && onEnterprise && inInstance:
		return "lke, instance"
	case onStandard && onEnterprise:
		return "lke"
	case onEnterprise && inInstance:
		return "lke (Enterprise), instance"
	case onEnterprise:
		return "lke (Enterprise)"
	case inInstance:
		return modeInstance
	case works(clusterAPI):
		return modeClusterAPI
	}
	return "none"
}

// kubeletExamples has a value for each kubelet setting that may change the estimate of a node's capacity.
var kubeletExamples = map[string]string{
	"systemReserved": `{"systemReserved":{"memory":"1Gi"}}`,
	"kubeReserved":   `{"kubeReserved":{"memory":"1Gi"}}`,
	"evictionHard":   `{"evictionHard":{"memory.available":"1Gi"}}`,
	"evictionSoft":   `{"evictionSoft":{"memory.available":"1Gi"}}`,
}

// kubeletModes returns the modes of a kubelet setting. It is estimated if the setting changes the allocatable resources that
// the catalog computes for a node. Otherwise only the kubelet reads the setting, and LKE configures its kubelets itself.
func kubeletModes(name string) string {
	plan := catalog.Plan{ID: "g6-standard-2", Class: v1alpha1.InstanceClassStandard, VCPUs: 2, Memory: 4096, Disk: 81920}
	allocatable := func(kubelet string) string {
		var configuration v1alpha1.KubeletConfiguration
		if json.Unmarshal([]byte(kubelet), &configuration) != nil {
			return "unreadable"
		}
		class := v1alpha1.LinodeNodeClassSpec{Kubelet: &configuration}
		it := catalog.Convert(plan, true, catalog.Settings{Region: "us-ord", Kubelet: class.Effective(v1alpha1.ModeLKE).Kubelet})
		return fmt.Sprint(it.Allocatable())
	}
	if example := kubeletExamples[name]; example != "" && allocatable(example) != allocatable("{}") {
		return estimated
	}
	return modeInstance
}
