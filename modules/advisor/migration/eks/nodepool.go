package eks

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

func isAWS(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return strings.HasSuffix(domain, ".k8s.aws") || strings.HasSuffix(domain, "amazonaws.com") || strings.HasSuffix(domain, "aws.com") ||
		strings.HasPrefix(key, "aws:")
}

// nodePool translates a NodePool of AWS into a NodePool of this provider.
func nodePool(object mapping) {
	template := object.child("spec").child("template")
	labels := template.child("metadata").child("labels")
	var comments []string
	for _, key := range labels.keys() {
		if isAWS(key) {
			comments = append(comments, "# not translated: label "+key, "#   it has no meaning outside AWS")
			labels.remove(key)
		}
	}
	template.child("metadata").removeEmpty("labels")
	template.removeEmpty("metadata")
	spec := template.child("spec")
	if ref := spec.child("nodeClassRef"); ref.exists() {
		ref.set("group", scalar(v1alpha1.Group))
		ref.set("kind", scalar(v1alpha1.Kind))
	}
	for _, field := range []string{"taints", "startupTaints"} {
		taints := spec.get(field)
		if taints == nil {
			continue
		}
		taints.Content = slices.DeleteFunc(taints.Content, func(taint *yaml.Node) bool {
			key := mapping{taint}.text("key")
			if isAWS(key) {
				comments = append(comments, "# not translated: taint "+key, "#   only a component of AWS removes it")
			}
			return isAWS(key)
		})
		spec.removeEmpty(field)
	}
	object.child("spec").comment("template", comments...)
	requirements(spec)
}

// requirements translates the list of requirements.
func requirements(spec mapping) {
	list := spec.get("requirements")
	if list == nil {
		return
	}
	var kept []*yaml.Node
	var comments []string
	for _, node := range list.Content {
		before := inline(node)
		reason, keep := translated(mapping{node})
		switch {
		case !keep:
			comments = append(comments, "# not translated: "+before, "#   "+reason)
			continue
		case reason != "":
			node.HeadComment = strings.TrimPrefix(node.HeadComment+"\n"+"# was "+before+"\n#   "+reason, "\n")
		}
		kept = append(kept, node)
	}
	list.Content = kept
	if len(kept) == 0 {
		list.Style = yaml.FlowStyle
	}
	spec.comment("requirements", comments...)
}

// translated changes one requirement. reason describes the change, or why the requirement is left out.
func translated(r mapping) (reason string, keep bool) {
	if r.get("minValues") != nil {
		r.remove("minValues")
		reason = "minValues is left out: it is there for the choice that spot capacity needs"
	}
	key, operator, values := r.text("key"), r.text("operator"), texts(r.list("values"))
	because, keep := "", true
	switch key {
	case karpv1.CapacityTypeLabelKey:
		because, keep = narrow(r, operator, values, karpv1.CapacityTypeOnDemand, "Linode sells on-demand capacity only")
	case corev1.LabelArchStable:
		because, keep = narrow(r, operator, values, karpv1.ArchitectureAmd64, "all Linode plans are amd64: images need that architecture")
	case corev1.LabelOSStable:
		because, keep = narrow(r, operator, values, string(corev1.Linux), "nodes run Linux")
	case corev1.LabelTopologyZone, corev1.LabelTopologyRegion, "topology.k8s.aws/zone-id":
		return "all nodes are in the cluster's region, and a zone is a region at Linode", false
	case corev1.LabelInstanceTypeStable:
		because, keep = instanceTypes(r, operator, values)
	default:
		if isAWS(key) {
			because, keep = ofAWS(r, key, operator, values)
		}
	}
	if because != "" && reason != "" {
		because += "; "
	}
	return because + reason, keep
}

// narrow reduces a choice to the one value that Linode has.
func narrow(r mapping, operator string, values []string, only, reason string) (string, bool) {
	switch {
	case operator == string(corev1.NodeSelectorOpIn) && len(values) == 1 && values[0] == only:
		return "", true
	case operator == string(corev1.NodeSelectorOpNotIn) && !slices.Contains(values, only):
		return reason, false
	case operator == string(corev1.NodeSelectorOpExists):
		return "", true
	}
	set(r, r.text("key"), corev1.NodeSelectorOpIn, only)
	return reason, true
}

func set(r mapping, key string, operator corev1.NodeSelectorOperator, values ...string) {
	r.set("key", scalar(key))
	r.set("operator", scalar(string(operator)))
	r.remove("values")
	if len(values) > 0 {
		r.set("values", listOf(values...))
	}
}

// ofAWS translates a requirement on a label of the AWS provider.
func ofAWS(r mapping, key, operator string, values []string) (string, bool) {
	_, name, _ := strings.Cut(key, "/")
	switch name {
	case "instance-category", "instance-family":
		return classes(r, operator, values)
	case "instance-size":
		return sizes(r, operator, values)
	case "instance-generation":
		return "generations of EC2 and of Linode cannot be compared; Linode's are in " + v1alpha1.LabelInstanceGeneration, false
	case "instance-gpu-name", "instance-gpu-manufacturer", "instance-gpu-memory":
		return gpus(r, operator)
	case "instance-local-nvme":
		return localDisk(r, operator, values)
	}
	ours, _ := requirement.Equivalent(key)
	if ours == "" {
		return "this provider has no such label", false
	}
	r.set("key", scalar(ours))
	return "", true
}

// localDisk turns GiB into MB; every plan has a local disk.
func localDisk(r mapping, operator string, values []string) (string, bool) {
	if len(values) != 1 || operator != string(corev1.NodeSelectorOpGt) && operator != string(karpv1.NodeSelectorOpGte) {
		return "every Linode plan has a local disk", false
	}
	gib, err := strconv.Atoi(values[0])
	if err != nil {
		return "it is not a number", false
	}
	set(r, v1alpha1.LabelInstanceDisk, corev1.NodeSelectorOperator(operator), strconv.Itoa(gib*1024))
	return "every Linode plan has a local disk; its size is in MB", true
}

// classOf returns the class of Linode plans for the same use as a family of EC2, "" if Linode has no such class.
func classOf(family string) string {
	family = strings.ToLower(family)
	for _, other := range []string{"trn", "mac", "gr"} { // accelerators, Macs, GPUs beside much memory
		if strings.HasPrefix(family, other) {
			return ""
		}
	}
	switch {
	case strings.HasPrefix(family, "g"), strings.HasPrefix(family, "p"):
		return v1alpha1.InstanceClassGPU
	case strings.HasPrefix(family, "m"), strings.HasPrefix(family, "t"), strings.HasPrefix(family, "a"):
		return v1alpha1.InstanceClassStandard
	case strings.HasPrefix(family, "c"):
		return v1alpha1.InstanceClassDedicated
	case strings.HasPrefix(family, "r"), strings.HasPrefix(family, "x"), strings.HasPrefix(family, "z"):
		return v1alpha1.InstanceClassHighMemory
	}
	return ""
}

// gpus translates a requirement on the GPU of a node: whether it has one. The model of the GPU cannot be translated.
func gpus(r mapping, operator string) (string, bool) {
	const reason = "Linode has other GPUs, each of them NVIDIA's: `karpenter-linode plans` has their names"
	switch operator {
	case string(corev1.NodeSelectorOpNotIn): // a node without a GPU meets it, too
		return reason, false
	case string(corev1.NodeSelectorOpDoesNotExist):
		set(r, v1alpha1.LabelInstanceGPUName, corev1.NodeSelectorOpDoesNotExist)
		return "", true
	}
	set(r, v1alpha1.LabelInstanceGPUName, corev1.NodeSelectorOpExists)
	return reason, true
}

func classes(r mapping, operator string, values []string) (string, bool) {
	hasGPUs := func(family string) bool { return family == "g" || family == "p" } // whole categories: a family leaves others
	if operator == string(corev1.NodeSelectorOpNotIn) && slices.ContainsFunc(values, hasGPUs) {
		set(r, v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpNotIn, v1alpha1.InstanceClassGPU)
		return "plans with a GPU stay excluded; the other values are of EC2 alone", true
	}
	return mapped(r, operator, values, v1alpha1.LabelInstanceClass, classOf, "families became classes of plans for the same use")
}

// vCPUs returns the vCPUs of a size of EC2: large is 2, and 4xlarge 16.
func vCPUs(size string) string {
	switch size {
	case "nano", "micro", "small", "medium":
		return "1"
	case "large":
		return "2"
	case "xlarge":
		return "4"
	}
	if factor, found := strings.CutSuffix(size, "xlarge"); found {
		if n, err := strconv.Atoi(factor); err == nil && n > 0 {
			return strconv.Itoa(4 * n)
		}
	}
	return ""
}

func sizes(r mapping, operator string, values []string) (string, bool) {
	return mapped(r, operator, values, v1alpha1.LabelInstanceCPU, vCPUs,
		"sizes became numbers of vCPUs; a number that no plan has selects nothing")
}

// instanceTypes turns instance types into numbers of vCPUs, because plans exist with the same numbers. Types with a GPU become plans with
// a GPU, because EC2 and Linode combine GPUs with different numbers of vCPUs.
func instanceTypes(r mapping, operator string, values []string) (string, bool) {
	withoutGPU := func(instanceType string) bool { return classOf(instanceType) != v1alpha1.InstanceClassGPU }
	if operator == string(corev1.NodeSelectorOpIn) && len(values) > 0 && !slices.ContainsFunc(values, withoutGPU) {
		set(r, v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, v1alpha1.InstanceClassGPU)
		return "each of these types has a GPU; `karpenter-linode plans` has the plans with a GPU and their sizes", true
	}
	return mapped(r, operator, values, v1alpha1.LabelInstanceCPU, func(instanceType string) string {
		_, size, _ := strings.Cut(instanceType, ".")
		return vCPUs(size)
	}, "instance types became numbers of vCPUs; require classes or plans where memory or GPUs matter")
}

// mapped replaces each value of an In requirement by the value of this provider. A requirement that excludes values is left out, because
// no Linode plan has these values.
func mapped(r mapping, operator string, values []string, key string, ours func(string) string, reason string) (string, bool) {
	if operator != string(corev1.NodeSelectorOpIn) {
		return operator + " of values that no Linode plan has selects nothing", false
	}
	var result, unknown []string
	for _, value := range values {
		if ours := ours(value); ours == "" {
			unknown = append(unknown, value)
		} else if !slices.Contains(result, ours) {
			result = append(result, ours)
		}
	}
	if len(result) == 0 {
		return "nothing at Linode corresponds to these values", false
	}
	if len(unknown) > 0 {
		reason += "; nothing corresponds to " + strings.Join(unknown, ", ")
	}
	set(r, key, corev1.NodeSelectorOpIn, result...)
	return reason, true
}
