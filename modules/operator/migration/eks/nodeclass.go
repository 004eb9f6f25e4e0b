package eks

import (
	"fmt"
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

// nodeClass makes a LinodeNodeClass of an EC2NodeClass.
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
			spec.comment(field, "# in lke mode LKE configures the kubelet; maxPods, podsPerCore, the reserved resources and evictionHard only count",
				"# when the size of a new node is estimated, so set what LKE does or nothing")
			spec.removeEmpty(field)
		default:
			without(field, "this provider has no such field")
		}
	}
	object.comment("spec", comments...)
}

// tags makes Linode's tags, which are texts of 3 to 50 characters, of pairs.
func tags(spec mapping) (comments []string) {
	pairs := spec.child("tags")
	var kept []string
	for _, key := range pairs.keys() {
		tag := key + "=" + pairs.text(key)
		if n := utf8.RuneCountInString(tag); n < 3 || n > 50 {
			comments = append(comments, "# not translated: tag "+tag, "#   a Linode tag has 3 to 50 characters")
			continue
		}
		if isAWS(key) || key == "Name" {
			comments = append(comments, "# not translated: tag "+tag, "#   it has no meaning outside AWS; Linodes are labelled by Karpenter")
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

// disks translates the encryption of volumes; their size is the plan's.
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

func publicAddress(spec mapping) (comments []string) {
	public := spec.text("associatePublicIPAddress")
	spec.remove("associatePublicIPAddress")
	if public != "false" {
		return []string{"# not translated: associatePublicIPAddress: " + public, "#   a Linode has a public address without it"}
	}
	isolation := &yaml.Node{Kind: yaml.MappingNode}
	value := &yaml.Node{}
	_ = value.Encode(false) // a boolean always encodes
	mapping{isolation}.set("publicIPv4", value)
	spec.set("isolation", isolation)
	spec.comment("isolation", "# LKE Enterprise only, and in limited availability: an account without access gets no node")
	return nil
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
