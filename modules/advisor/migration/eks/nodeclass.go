package eks

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Reasons why fields of an EC2NodeClass have no counterpart.
var withoutCounterpart = map[string]string{
	"amiFamily": "LKE chooses the image of its nodes; in instance mode set spec.image or spec.imageSelector",
	"amiSelectorTerms": "LKE chooses the image of its nodes; nodes follow the control plane's version, or spec.lkeK8sVersion; in instance " +
		"mode set spec.image or spec.imageSelector",
	"subnetSelectorTerms":              "LKE attaches nodes to the cluster's own network; in instance mode set spec.vpcID and spec.subnetID",
	"securityGroupSelectorTerms":       "set spec.firewallID to a Cloud Firewall with the same rules (LKE Enterprise, or instance mode)",
	"capacityReservationSelectorTerms": "Linode sells no reservations",
	"placementGroupSelector":           "set spec.placementGroups (instance mode)",
	"role":                             "Linode has no roles for instances: give pods credentials of their own, in Secrets",
	"instanceProfile":                  "Linode has no roles for instances: give pods credentials of their own, in Secrets",
	"userData":                         "LKE takes none: use a DaemonSet; in instance mode set spec.bootstrap.userDataSecretRef",
	"instanceStorePolicy":              "the local disk of a plan is the node's file system: nothing has to be set",
	"detailedMonitoring":               "Linode shows the metrics of each instance without it",
	"metadataOptions":                  "there is no such setting: keep pods from link-local addresses with a NetworkPolicy",
	"context":                          "it is EC2's own",
	"ipPrefixCount":                    "LKE assigns pod networks itself",
	"networkInterfaces":                "LKE connects its nodes itself; in instance mode set spec.interfaces",
	"cpuOptions":                       "Linode has no such option",
}

// nodeClass translates an EC2NodeClass into a LinodeNodeClass.
func nodeClass(object mapping) {
	object.set("apiVersion", scalar(v1alpha1.Group+"/"+v1alpha1.Version))
	object.set("kind", scalar(v1alpha1.Kind))
	spec := object.child("spec")
	if !spec.exists() {
		object.set("spec", &yaml.Node{Kind: yaml.MappingNode})
		return
	}
	var comments []string
	without := func(field, reason string) {
		comments = append(comments, fmt.Sprintf("# not translated: %s: %s", field, inline(spec.get(field))), "#   "+reason)
		spec.remove(field)
	}
	for _, field := range spec.keys() {
		switch reason, none := withoutCounterpart[field]; {
		case none:
			without(field, reason)
		case field == "tags":
			comments = append(comments, tags(spec)...)
		case field == "blockDeviceMappings":
			comments = append(comments, disks(spec)...)
		case field == "associatePublicIPAddress":
			comments = append(comments, publicAddress(spec)...)
		case field == "kubelet":
			comments = append(comments, kubelet(spec.child(field))...)
			spec.comment(field, "# in lke mode LKE configures the kubelet; the reserved resources and evictionHard only count when the size of a",
				"# new node is estimated, so set what LKE does or nothing; maxPods and podsPerCore have no effect")
			spec.removeEmpty(field)
		default:
			without(field, "this provider has no such field")
		}
	}
	object.comment("spec", comments...)
}

// tags translates pairs into tags of Linode, which are texts.
func tags(spec mapping) (comments []string) {
	pairs := spec.child("tags")
	var kept []string
	for _, key := range pairs.keys() {
		tag := key + "=" + pairs.text(key)
		if reason := untagged(key, tag); reason != "" {
			comments = append(comments, "# not translated: tag "+tag, "#   "+reason)
			continue
		}
		kept = append(kept, tag)
	}
	spec.remove("tags")
	if len(kept) > 0 {
		spec.set("tags", listOf(kept...))
	}
	return comments
}

// untagged returns why a pair does not become a tag, "" if it does.
func untagged(key, tag string) string {
	switch n := utf8.RuneCountInString(tag); {
	case v1alpha1.IsRestrictedTag(tag):
		return "this key is Karpenter's or LKE's own, and a tag with it would make Linodes be taken for others"
	case isAWS(key), key == "Name":
		return "it has no meaning outside AWS; Linodes are labelled by Karpenter"
	case n < v1alpha1.TagMinLength, n > v1alpha1.TagMaxLength:
		return fmt.Sprintf("a Linode tag has %d to %d characters", v1alpha1.TagMinLength, v1alpha1.TagMaxLength)
	case strings.TrimSpace(tag) != tag, strings.ContainsFunc(tag, func(r rune) bool { return unicode.In(r, unicode.C) }):
		return "a Linode tag has no spaces at its ends and no control characters"
	}
	return ""
}

// disks translates the encryption of volumes. The size of a Linode's disk is the plan's.
func disks(spec mapping) (comments []string) {
	encrypted := ""
	for _, device := range spec.list("blockDeviceMappings") {
		ebs := mapping{device}.child("ebs")
		if size := ebs.text("volumeSize"); size != "" {
			comments = append(comments, fmt.Sprintf("# not translated: %s of %s", mapping{device}.text("deviceName"), size),
				"#   a node has the disk of its plan: require "+v1alpha1.LabelInstanceDisk+" Gt <MB> in the NodePool, or use PersistentVolumes")
		}
		if value := ebs.text("encrypted"); value != "" && encrypted != "false" {
			encrypted = value
		}
		if key := ebs.text("kmsKeyID"); key != "" {
			comments = append(comments, "# not translated: kmsKeyID: "+key, "#   Linode manages the keys of its disk encryption")
		}
	}
	spec.remove("blockDeviceMappings")
	switch encrypted {
	case "true":
		spec.set("diskEncryption", scalar(string(v1alpha1.DiskEncryptionEnabled)))
	case "false":
		spec.set("diskEncryption", scalar(string(v1alpha1.DiskEncryptionDisabled)))
	}
	return comments
}

func publicAddress(spec mapping) []string {
	public := spec.text("associatePublicIPAddress")
	spec.remove("associatePublicIPAddress")
	reason := "a Linode has a public address without it"
	if public == "false" {
		reason = "only LKE Enterprise has nodes without public addresses, in limited availability: with access set spec.isolation to " +
			"{publicIPv4: false}; elsewhere LKE refuses to make such nodes"
	}
	return []string{"# not translated: associatePublicIPAddress: " + public, "#   " + reason}
}

// known are the fields that a kubelet has in both providers.
var known = map[string]bool{
	"clusterDNS": true, "maxPods": true, "podsPerCore": true, "systemReserved": true, "kubeReserved": true, "evictionHard": true,
	"evictionSoft": true, "evictionSoftGracePeriod": true, "evictionMaxPodGracePeriod": true, "imageGCHighThresholdPercent": true,
	"imageGCLowThresholdPercent": true, "cpuCFSQuota": true,
}

func kubelet(fields mapping) (comments []string) {
	for _, field := range fields.keys() {
		if !known[field] {
			comments = append(comments, "# not translated: kubelet."+field, "#   this provider has no such field")
			fields.remove(field)
		}
	}
	return comments
}
