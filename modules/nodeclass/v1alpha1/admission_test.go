package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A refusal names the field, the value and the rule. An empty value here means that the API server's message has no value: it prints
// neither maps nor objects, so a rule about a map's keys, or about two fields, names the fields.
type refusal struct{ field, value, rule string }

var accepted = refusal{}

// Each rule of the CRD with objects the API server accepts and refuses.
func TestAdmission(t *testing.T) {
	long := strings.Repeat("x", 51)
	for _, test := range []struct {
		name, spec string
		refusal    refusal
	}{
		{"no spec", ``, accepted},
		{"empty spec", `spec: {}`, accepted},
		{"unknown field", `spec: {firewall: 3}`, refusal{"spec.firewall", "", "unknown field"}},

		{"tags", `spec: {tags: ["team=a", "abc", "Umlaut-ä", "with space"]}`, accepted},
		{"tag of 50 characters", `spec: {tags: ["` + strings.Repeat("x", 50) + `"]}`, accepted},
		{"tag of 50 characters, 100 bytes", `spec: {tags: ["` + strings.Repeat("ä", 50) + `"]}`, accepted},
		{"tag of 51 characters", `spec: {tags: ["abc", "` + long + `"]}`, refusal{"spec.tags[1]", "", "may not be more than 50"}},
		{"tag of 2 characters", `spec: {tags: ["ab"]}`, refusal{"spec.tags[0]", `"ab"`, "at least 3 chars long"}},
		{"same tag twice", `spec: {tags: ["abc", "abc"]}`, refusal{"spec.tags[1]", `"abc"`, "Duplicate value"}},
		{"tag with a space at its end", `spec: {tags: ["abc "]}`, refusal{"spec.tags[0]", `"abc "`, "no spaces at its ends"}},
		{"tag with a space at its start", `spec: {tags: [" abc"]}`, refusal{"spec.tags[0]", `" abc"`, "no spaces at its ends"}},
		{"tag with a line break", `spec: {tags: ["ab\ncd"]}`, refusal{"spec.tags[0]", `"ab\ncd"`, "no control characters"}},
		{"tag with a managed key", `spec: {tags: ["abc", "karpenter.sh/nodeclaim=x"]}`,
			refusal{"spec.tags[1]", `"karpenter.sh/nodeclaim=x"`, "a key that Karpenter, this provider or LKE manages"}},
		{"tag of LKE", `spec: {tags: ["lke123"]}`, refusal{"spec.tags[0]", `"lke123"`, "lke<number>"}},
		{"51 tags", `spec: {tags: [` + strings.Join(numbered("tag", 51), ", ") + `]}`, refusal{"spec.tags", "51", "must have at most 50 items"}},

		{"firewallID", `spec: {firewallID: 12345}`, accepted},
		{"firewallID 0", `spec: {firewallID: 0}`, refusal{"spec.firewallID", "0", "greater than or equal to 1"}},
		{"firewallID text", `spec: {firewallID: "12345"}`, refusal{"spec.firewallID", "string", "must be of type integer"}},

		{"lkeK8sVersion enterprise", `spec: {lkeK8sVersion: v1.33.6+lke7}`, accepted},
		{"lkeK8sVersion standard, judged in the status", `spec: {lkeK8sVersion: "1.35"}`, accepted},
		{"lkeK8sVersion latest", `spec: {lkeK8sVersion: latest}`,
			refusal{"spec.lkeK8sVersion", `"latest"`, "lkeK8sVersion must look like v1.33.6+lke7"}},
		{"lkeK8sVersion of a major version alone", `spec: {lkeK8sVersion: v1}`,
			refusal{"spec.lkeK8sVersion", `"v1"`, "lkeK8sVersion must look like"}},

		{"diskEncryption enabled", `spec: {diskEncryption: enabled}`, accepted},
		{"diskEncryption disabled", `spec: {diskEncryption: disabled}`, accepted},
		{"diskEncryption yes", `spec: {diskEncryption: "yes"}`,
			refusal{"spec.diskEncryption", `"yes"`, `supported values: "enabled", "disabled"`}},

		{"image", `spec: {image: linode/debian12}`, accepted},
		{"image of the account", `spec: {image: private/12345}`, accepted},
		{"image without a namespace", `spec: {image: ubuntu22.04}`,
			refusal{"spec.image", `"ubuntu22.04"`, "image must look like linode/ubuntu24.04, private/12345 or shared/12345"}},

		{"image and imageSelector", `spec: {image: linode/debian12, imageSelector: {label: "k-*"}}`,
			refusal{"spec.imageSelector", "", "exclude each other"}},
		{"imageDriftPolicy", `spec: {imageSelector: {label: "k-*"}, imageDriftPolicy: Replace}`, accepted},
		{"imageDriftPolicy never", `spec: {imageDriftPolicy: Never}`, refusal{"spec.imageDriftPolicy", `"Never"`, "supported values"}},

		{"bootstrap", `spec: {bootstrap: {type: kubeadm, kubernetesVersion: v1.35.2, apiServerEndpoint: "10.0.0.2:6443", preJoinCommands: ["true"]}}`, accepted},
		{"bootstrap of IPv6", `spec: {bootstrap: {apiServerEndpoint: "[fd00::1]:6443"}}`, accepted},
		{"bootstrap of another type", `spec: {bootstrap: {type: kops}}`, refusal{"spec.bootstrap.type", `"kops"`, "supported values"}},
		{"bootstrap with a URL", `spec: {bootstrap: {apiServerEndpoint: "https://10.0.0.2:6443"}}`,
			refusal{"spec.bootstrap.apiServerEndpoint", `"https://10.0.0.2:6443"`, "a host, a colon and a port"}},
		{"bootstrap that follows the control plane", `spec: {bootstrap: {kubernetesVersion: ClusterMinor}}`, accepted},
		{"custom bootstrap that follows the control plane",
			`spec: {bootstrap: {type: custom, kubernetesVersion: ClusterMinor, userDataSecretRef: {namespace: a, name: b, key: c}}}`, accepted},
		{"k3s with what it does anyway",
			`spec: {bootstrap: {type: k3s, kubernetesVersion: ClusterMinor, tokenSecretRef: {namespace: a, name: b, key: c}}}`,
			refusal{"spec.bootstrap.kubernetesVersion", "", "follow the control plane without kubernetesVersion"}},
		{"bootstrap of a version range", `spec: {bootstrap: {kubernetesVersion: "1.35"}}`,
			refusal{"spec.bootstrap.kubernetesVersion", `"1.35"`, "must be ClusterMinor, or look like v1.35.2"}},
		{"bootstrap with a CA hash of another kind", `spec: {bootstrap: {caCertHashes: ["md5:00"]}}`,
			refusal{"spec.bootstrap.caCertHashes[0]", `"md5:00"`, "sha256: and 64"}},
		{"k3s", `spec: {bootstrap: {type: k3s, tokenSecretRef: {namespace: kube-system, name: agent, key: token}}}`, accepted},
		{"k3s without a token", `spec: {bootstrap: {type: k3s}}`,
			refusal{"spec.bootstrap.tokenSecretRef", "", "k3s and rke2 need tokenSecretRef"}},
		{"kubeadm with a token", `spec: {bootstrap: {tokenSecretRef: {namespace: kube-system, name: agent, key: token}}}`,
			refusal{"spec.bootstrap.tokenSecretRef", "", "a node of kubeadm gets a token of its own"}},
		{"custom", `spec: {bootstrap: {type: custom, userDataSecretRef: {namespace: kube-system, name: mine, key: userdata}}}`, accepted},
		{"custom without user data", `spec: {bootstrap: {type: custom}}`,
			refusal{"spec.bootstrap.userDataSecretRef", "", "talos and custom need userDataSecretRef"}},
		{"rke2 with user data", `spec: {bootstrap: {type: rke2, tokenSecretRef: {namespace: a, name: b, key: c}, userDataSecretRef: {namespace: a, name: b, key: c}}}`,
			refusal{"spec.bootstrap.userDataSecretRef", "", "is for talos and custom"}},
		{"talos with commands", `spec: {bootstrap: {type: talos, userDataSecretRef: {namespace: a, name: b, key: c}, preJoinCommands: ["true"]}}`,
			refusal{"spec.bootstrap.preJoinCommands", "", "put the commands into the user data"}},
		{"kubeadm with an installer", `spec: {bootstrap: {installerURL: none}}`,
			refusal{"spec.bootstrap.installerURL", "", "is for k3s and rke2"}},
		{"k3s installed by http", `spec: {bootstrap: {type: k3s, tokenSecretRef: {namespace: a, name: b, key: c}, installerURL: "http://get.k3s.io"}}`,
			refusal{"spec.bootstrap.installerURL", `"http://get.k3s.io"`, "must be an https address"}},

		{"interfaces", `spec: {vpcID: 1, subnetID: 2, interfaces: [{type: public}, {type: vpc, primary: true}]}`, accepted},
		{"subnetID alone", `spec: {subnetID: 2}`, refusal{"spec.subnetID", "", "subnetID needs the vpcID"}},
		{"vpc interface without a VPC", `spec: {interfaces: [{type: vpc}]}`, refusal{"spec.interfaces", "", "need vpcID and subnetID"}},
		{"two public interfaces", `spec: {interfaces: [{type: public}, {type: public}]}`,
			refusal{"spec.interfaces", "", "at most one public interface"}},
		{"two primary interfaces", `spec: {vpcID: 1, subnetID: 2, interfaces: [{type: public, primary: true}, {type: vpc, primary: true}]}`,
			refusal{"spec.interfaces", "", "at most one interface is the primary one"}},
		{"public interface with NAT", `spec: {interfaces: [{type: public, nat: true}]}`,
			refusal{"spec.interfaces[0].type", "", "subnetID and nat are of interfaces of the type vpc"}},
		{"placementGroups", `spec: {placementGroups: [{id: 1}, {id: 2}]}`, accepted},
		{"placementGroups, one twice", `spec: {placementGroups: [{id: 1}, {id: 1}]}`, refusal{"spec.placementGroups[1]", "", "Duplicate value"}},
		{"placementGroup and placementGroups", `spec: {placementGroup: {id: 1}, placementGroups: [{id: 2}]}`,
			refusal{"spec.placementGroups", "", "exclude each other"}},
		{"maintenancePolicy", `spec: {maintenancePolicy: linode/migrate}`, accepted},
		{"maintenancePolicy of another name", `spec: {maintenancePolicy: migrate}`,
			refusal{"spec.maintenancePolicy", `"migrate"`, "supported values"}},

		{"authorizedKeys", `spec: {authorizedKeys: ["ssh-ed25519 AAAAC3Nz me@example", "ecdsa-sha2-nistp256 AAAA==", "sk-ssh-ed25519@openssh.com AAAA"]}`, accepted},
		{"authorizedKeys, a path", `spec: {authorizedKeys: ["~/.ssh/id.pub"]}`,
			refusal{"spec.authorizedKeys[0]", `"~/.ssh/id.pub"`, "must be one line as in authorized_keys"}},
		{"authorizedKeys, two in one", `spec: {authorizedKeys: ["ssh-rsa AAAA a\nssh-rsa BBBB b"]}`,
			refusal{"spec.authorizedKeys[0]", `BBBB b"`, "must be one line as in authorized_keys"}},
		{"authorizedUsers", `spec: {authorizedUsers: [alice, bob_2]}`, accepted},
		{"authorizedUsers, empty name", `spec: {authorizedUsers: [""]}`, refusal{"spec.authorizedUsers[0]", `""`, "at least 1 chars long"}},
		{"authorizedUsers, a sentence", `spec: {authorizedUsers: ["a b"]}`,
			refusal{"spec.authorizedUsers[0]", `"a b"`, "must be the name of a Linode user"}},
		{"authorizedUsers, twice", `spec: {authorizedUsers: [alice, alice]}`, refusal{"spec.authorizedUsers[1]", `"alice"`, "Duplicate value"}},

		{"backupsEnabled and swapSize", `spec: {backupsEnabled: true, swapSize: 512}`, accepted},
		{"swapSize 0", `spec: {swapSize: 0}`, accepted},
		{"swapSize negative", `spec: {swapSize: -1}`, refusal{"spec.swapSize", "-1", "greater than or equal to 0"}},
		{"swap_size, as the alpha provider's schema has it", `spec: {swap_size: 512}`, accepted},
		{"swap_size negative", `spec: {swap_size: -1}`, refusal{"spec.swap_size", "-1", "greater than or equal to 0"}},
		{"swapSize by both names", `spec: {swap_size: 512, swapSize: 512}`,
			refusal{"spec.swap_size", "", "two names of one field; set swapSize alone"}},

		{"placementGroup", `spec: {placementGroup: {id: 7, compliant_only: true}}`, accepted},
		{"placementGroup without id", `spec: {placementGroup: {compliant_only: true}}`, refusal{"spec.placementGroup.id", "", "Required value"}},
		{"placementGroup id 0", `spec: {placementGroup: {id: 0}}`, refusal{"spec.placementGroup.id", "0", "greater than or equal to 1"}},

		{"vpcID", `spec: {vpcID: 9}`, accepted},
		{"vpcID 0", `spec: {vpcID: 0}`, refusal{"spec.vpcID", "0", "greater than or equal to 1"}},
		{"ipv6Options in a VPC", `spec: {vpcID: 9, ipv6Options: {enableSLAAC: true, enableRanges: ["/64", "/64", "/128"], isPublicIPv6: false}}`,
			accepted},
		{"ipv6Options in a VPC beside a public interface",
			`spec: {vpcID: 9, interfaces: [{type: public}, {type: vpc}], ipv6Options: {enableRanges: ["/80"]}}`, accepted},
		{"ipv6Options of a public interface", `spec: {ipv6Options: {enableRanges: ["/64", "/56"]}}`, accepted},
		{"ipv6Options, a range that no public interface takes", `spec: {ipv6Options: {enableRanges: ["/64", "/80"]}}`,
			refusal{"spec.ipv6Options.enableRanges", "", "takes ranges of /56 and /64"}},
		{"ipv6Options, a range that no public interface takes, with a VPC",
			`spec: {vpcID: 9, interfaces: [{type: public}], ipv6Options: {enableRanges: ["/80"]}}`,
			refusal{"spec.ipv6Options.enableRanges", "", "need an interface in a VPC"}},
		{"ipv6Options, a range that is none", `spec: {ipv6Options: {enableRanges: ["64"]}}`,
			refusal{"spec.ipv6Options.enableRanges[0]", `"64"`, "must be a prefix length from /1 to /128"}},
		{"ipv6Options, a prefix too long", `spec: {ipv6Options: {enableRanges: ["/129"]}}`,
			refusal{"spec.ipv6Options.enableRanges[0]", `"/129"`, "must be a prefix length"}},

		{"disks", `spec: {osDisk: {size: 20Gi, filesystem: ext4}, dataDisks: {sdb: {size: 10G, label: data}, sdc: {size: 1Mi, filesystem: swap}}}`, accepted},
		{"disk size a number", `spec: {osDisk: {size: 1073741824}}`, accepted},
		{"disk without size", `spec: {osDisk: {label: os}}`, refusal{"spec.osDisk.size", "", "Required value"}},
		{"disk of size 0", `spec: {osDisk: {size: "0"}}`, refusal{"spec.osDisk.size", `"0"`, "at least 1Mi"}},
		{"disk of number 0", `spec: {osDisk: {size: 0}}`, refusal{"spec.osDisk.size", "0", "at least 1Mi"}},
		{"disk of a number in MiB", `spec: {osDisk: {size: 20480}}`, refusal{"spec.osDisk.size", "20480", "at least 1Mi"}},
		{"disk of negative size", `spec: {dataDisks: {sdc: {size: -1Gi}}}`, refusal{"spec.dataDisks.sdc.size", `"-1Gi"`, "at least 1Mi"}},
		{"disk size no quantity", `spec: {osDisk: {size: large}}`, refusal{"spec.osDisk.size", `"large"`, "size must be a quantity"}},
		{"disk with an unknown filesystem", `spec: {osDisk: {size: 1Gi, filesystem: xfs}}`,
			refusal{"spec.osDisk.filesystem", `"xfs"`, `supported values: "raw", "swap", "ext3", "ext4", "initrd"`}},
		{"root disk of swap", `spec: {osDisk: {size: 1Gi, filesystem: swap}}`, refusal{"spec.osDisk", "swap", "from which nothing boots"}},
		{"disk with an empty label", `spec: {osDisk: {size: 1Gi, label: ""}}`, refusal{"spec.osDisk.label", `""`, "at least 1 chars long"}},
		{"disk with a long label", `spec: {osDisk: {size: 1Gi, label: ` + long + `}}`,
			refusal{"spec.osDisk.label", "", "may not be more than 48"}},
		{"data disk on the root device", `spec: {dataDisks: {sda: {size: 1Gi}}}`, refusal{"spec.dataDisks.sda", "", "unknown field"}},
		{"no data disks", `spec: {dataDisks: {}}`, refusal{"spec.dataDisks", "0", "should have at least 1 properties"}},

		{"kernel", `spec: {configuration: {kernel: linode/grub2}}`, accepted},
		{"kernel without a namespace", `spec: {configuration: {kernel: grub2}}`,
			refusal{"spec.configuration.kernel", `"grub2"`, "kernel must look like linode/grub2"}},
		{"kernel too long", `spec: {configuration: {kernel: linode/` + strings.Repeat("k", 94) + `}}`,
			refusal{"spec.configuration.kernel", "", "may not be more than 100"}},
	} {
		t.Run(test.name, func(t *testing.T) { expectAdmission(t, test.spec, test.refusal) })
	}
}

func TestKubeletAdmission(t *testing.T) {
	in := func(field, value, rule string) refusal { return refusal{"spec.kubelet." + field, value, rule} }
	const quantity, share, keys = "a quantity not below 0", "a percentage from 0% to 100%", "cpu, memory, ephemeral-storage and pid"
	for _, test := range []struct {
		name, kubelet string
		refusal       refusal
	}{
		{"everything", `{clusterDNS: [10.128.0.10, "fd00::10"], maxPods: 110, podsPerCore: 10, systemReserved: {cpu: 100m, memory: 100Mi,
			ephemeral-storage: 1Gi, pid: "100"}, kubeReserved: {cpu: 50m}, evictionHard: {memory.available: 5%, nodefs.available: 10%,
			nodefs.inodesFree: 5%, imagefs.available: 15.5%, imagefs.inodesFree: 5%, pid.available: 100Mi}, evictionSoft: {memory.available: 200Mi},
			evictionSoftGracePeriod: {memory.available: 1m30s}, evictionMaxPodGracePeriod: 60, imageGCHighThresholdPercent: 85,
			imageGCLowThresholdPercent: 80, cpuCFSQuota: false}`, accepted},
		{"fields that a class has no names for", `{extraConfig: {maxParallelImagePulls: 5, serializeImagePulls: false, clusterDomain: a.b,
			allowedUnsafeSysctls: [net.core.somaxconn], memorySwap: {swapBehavior: LimitedSwap}}}`, accepted},
		{"extraConfig, no object", `{extraConfig: [maxParallelImagePulls]}`, in("extraConfig", "array", "must be of type object")},
		{"extraConfig, 65 fields", `{extraConfig: {` + strings.Join(numbered("a", 65), ": 1, ") + `: 1}}`,
			in("extraConfig", "65", "at most 64")},
		{"clusterDNS, no address", `{clusterDNS: [10.0.0.1, kube-dns]}`, in("clusterDNS[1]", `"kube-dns"`, "must be IP addresses")},
		{"clusterDNS, four", `{clusterDNS: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4]}`, in("clusterDNS", "4", "at most 3 items")},
		{"maxPods 0", `{maxPods: 0}`, in("maxPods", "0", "greater than or equal to 1")},
		{"podsPerCore negative", `{podsPerCore: -1}`, in("podsPerCore", "-1", "greater than or equal to 0")},
		{"podsPerCore equal to maxPods", `{maxPods: 20, podsPerCore: 20}`, accepted},
		{"podsPerCore above maxPods", `{maxPods: 20, podsPerCore: 21}`, in("podsPerCore", "", "podsPerCore must not be above maxPods")},
		{"podsPerCore without maxPods", `{podsPerCore: 200}`, accepted},

		{"systemReserved, unknown key", `{systemReserved: {gpu: "1"}}`, in("systemReserved", "", keys)},
		{"systemReserved, negative", `{systemReserved: {memory: -1Mi}}`, in("systemReserved[memory]", `"-1Mi"`, quantity)},
		{"systemReserved, no quantity", `{systemReserved: {memory: much}}`, in("systemReserved[memory]", `"much"`, quantity)},
		{"kubeReserved, unknown key", `{kubeReserved: {storage: 1Gi}}`, in("kubeReserved", "", keys)},
		{"kubeReserved, negative", `{kubeReserved: {cpu: -1m}}`, in("kubeReserved[cpu]", `"-1m"`, quantity)},
		{"kubeReserved, no quantity", `{kubeReserved: {cpu: 10%}}`, in("kubeReserved[cpu]", `"10%"`, quantity)},
		{"kubeReserved, nothing", `{kubeReserved: {cpu: "0"}}`, accepted},

		{"evictionHard, unknown key", `{evictionHard: {memory: 5%}}`,
			in("evictionHard", "", "keys of evictionHard are memory.available, nodefs.available")},
		{"evictionHard, over 100%", `{evictionHard: {memory.available: 101%}}`, in("evictionHard[memory.available]", `"101%"`, share)},
		{"evictionHard, exactly 100%", `{evictionHard: {memory.available: 100%}}`, accepted},
		{"evictionHard, negative", `{evictionHard: {memory.available: -5Mi}}`, in("evictionHard[memory.available]", `"-5Mi"`, quantity)},
		{"evictionHard, negative share", `{evictionHard: {memory.available: -5%}}`, in("evictionHard[memory.available]", `"-5%"`, share)},
		{"evictionSoft without grace period", `{evictionSoft: {memory.available: 5%}}`,
			in("evictionSoft", "", "needs one in evictionSoftGracePeriod")},
		{"evictionSoft, grace period of another key", `{evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {pid.available: 1m}}`,
			in("evictionSoft", "", "needs one in evictionSoftGracePeriod")},
		{"grace period without evictionSoft", `{evictionSoftGracePeriod: {pid.available: 1m}}`,
			in("evictionSoftGracePeriod", "", "needs one in evictionSoft")},
		{"evictionSoft, unknown key", `{evictionSoft: {cpu.available: 5%}, evictionSoftGracePeriod: {cpu.available: 1m}}`,
			in("evictionSoft", "", "keys of evictionSoft are")},
		{"evictionSoft, no threshold", `{evictionSoft: {pid.available: low}, evictionSoftGracePeriod: {pid.available: 1m}}`,
			in("evictionSoft[pid.available]", `"low"`, share)},
		{"grace period 0", `{evictionSoft: {pid.available: 5%}, evictionSoftGracePeriod: {pid.available: 0s}}`,
			in("evictionSoftGracePeriod[pid.available]", `"0s"`, "a duration above 0")},
		{"grace period no duration", `{evictionSoft: {pid.available: 5%}, evictionSoftGracePeriod: {pid.available: soon}}`,
			in("evictionSoftGracePeriod[pid.available]", `"soon"`, "a duration above 0")},
		{"evictionMaxPodGracePeriod negative", `{evictionMaxPodGracePeriod: -1}`,
			in("evictionMaxPodGracePeriod", "-1", "greater than or equal to 0")},

		{"image thresholds the wrong way round", `{imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 80}`,
			in("imageGCHighThresholdPercent", "", "must be above imageGCLowThresholdPercent")},
		{"image thresholds equal", `{imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80}`,
			in("imageGCHighThresholdPercent", "", "must be above imageGCLowThresholdPercent")},
		{"image threshold of 101%", `{imageGCHighThresholdPercent: 101}`, in("imageGCHighThresholdPercent", "101", "less than or equal to 100")},
		{"image threshold negative", `{imageGCLowThresholdPercent: -1}`, in("imageGCLowThresholdPercent", "-1", "greater than or equal to 0")},
	} {
		t.Run(test.name, func(t *testing.T) {
			expectAdmission(t, "spec: {kubelet: "+test.kubelet+"}", test.refusal)
		})
	}
}

// Karpenter's core writes the class's name as a label on NodeClaims, and a label's value has 63 characters at most.
func TestNameAdmission(t *testing.T) {
	expectAdmission(t, "metadata: {name: "+strings.Repeat("n", 63)+"}", accepted)
	name := strings.Repeat("n", 64)
	expectAdmission(t, "metadata: {name: "+name+"}", refusal{"metadata.name", name, "at most 63 characters"})
}

// The API server refuses the same tags as the status, which judges objects that are older than the rule.
func TestAdmissionKnowsManagedTags(t *testing.T) {
	for tag, restricted := range restrictedTags {
		if strings.TrimSpace(tag) != tag {
			continue // refused for its spaces
		}
		refused := accepted
		if restricted {
			refused = refusal{"spec.tags[0]", tag, "a key that Karpenter, this provider or LKE manages"}
		}
		t.Run(tag, func(t *testing.T) { expectAdmission(t, `spec: {tags: ["`+tag+`"]}`, refused) })
	}
}

func expectAdmission(t *testing.T, object string, want refusal) {
	t.Helper()
	_, err := admit(t, object)
	switch {
	case want == accepted && err != nil:
		t.Fatalf("refused: %v", err)
	case want != accepted && err == nil:
		t.Fatalf("accepted; expected a refusal with %q", want)
	case want == accepted:
		return
	}
	for _, words := range []string{want.field, want.value, want.rule} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("refused with %q; expected a message with %q", err, words)
		}
	}
}

func numbered(prefix string, n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint(prefix, i))
	}
	return texts
}

// The API server fills no default image in, because only instance mode makes nodes from an image.
func TestAnEmptyClassStaysEmpty(t *testing.T) {
	class, err := admit(t, ``)
	if err != nil {
		t.Fatal(err)
	}
	if spec, err := json.Marshal(class.Spec); err != nil || string(spec) != "{}" {
		t.Errorf("the API server has filled in %s (%v)", spec, err)
	}
}
