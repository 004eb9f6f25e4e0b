package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Each rule of the CRD with objects the API server accepts and refuses. refusal is a part of the message; empty
// means accepted.
func TestAdmission(t *testing.T) {
	for _, test := range []struct{ name, spec, refusal string }{
		{"no spec", ``, ""},
		{"empty spec", `spec: {}`, ""},
		{"unknown field", `spec: {firewall: 3}`, `unknown field "spec.firewall"`},

		{"tags", `spec: {tags: ["team=a", "abc", "Umlaut-ä", "with space"]}`, ""},
		{"tag of 50 characters", `spec: {tags: ["` + strings.Repeat("x", 50) + `"]}`, ""},
		{"tag of 50 characters, 100 bytes", `spec: {tags: ["` + strings.Repeat("ä", 50) + `"]}`, ""},
		{"tag of 51 characters", `spec: {tags: ["` + strings.Repeat("x", 51) + `"]}`, "50"},
		{"tag of 2 characters", `spec: {tags: ["ab"]}`, "at least 3 chars long"},
		{"same tag twice", `spec: {tags: ["abc", "abc"]}`, "Duplicate value"},
		{"tag with a space at its end", `spec: {tags: ["abc "]}`, "no spaces at its ends"},
		{"tag with a space at its start", `spec: {tags: [" abc"]}`, "no spaces at its ends"},
		{"tag with a line break", `spec: {tags: ["ab\ncd"]}`, "no control characters"},
		{"tags are refused in the status, not at admission", `spec: {tags: ["karpenter.sh/nodeclaim=x"]}`, ""},

		{"firewallID", `spec: {firewallID: 12345}`, ""},
		{"firewallID 0", `spec: {firewallID: 0}`, "greater than or equal to 1"},
		{"firewallID text", `spec: {firewallID: "12345"}`, "must be of type integer"},

		{"lkeK8sVersion enterprise", `spec: {lkeK8sVersion: v1.33.6+lke7}`, ""},
		{"lkeK8sVersion standard, judged in the status", `spec: {lkeK8sVersion: "1.35"}`, ""},
		{"lkeK8sVersion latest", `spec: {lkeK8sVersion: latest}`, "should match"},

		{"diskEncryption enabled", `spec: {diskEncryption: enabled}`, ""},
		{"diskEncryption disabled", `spec: {diskEncryption: disabled}`, ""},
		{"diskEncryption true", `spec: {diskEncryption: "yes"}`, `supported values: "enabled", "disabled"`},

		{"image", `spec: {image: linode/debian12}`, ""},
		{"image of the account", `spec: {image: private/12345}`, ""},
		{"image without a namespace", `spec: {image: ubuntu22.04}`, "should match"},

		{"authorizedKeys", `spec: {authorizedKeys: ["ssh-ed25519 AAAAC3Nz me@example", "ecdsa-sha2-nistp256 AAAA=="]}`, ""},
		{"authorizedKeys, a path", `spec: {authorizedKeys: ["~/.ssh/id.pub"]}`, "should match"},
		{"authorizedKeys, two in one", `spec: {authorizedKeys: ["ssh-rsa AAAA a\nssh-rsa BBBB b"]}`, "should match"},
		{"authorizedUsers", `spec: {authorizedUsers: [alice, bob_2]}`, ""},
		{"authorizedUsers, empty name", `spec: {authorizedUsers: [""]}`, "authorizedUsers[0]"},
		{"authorizedUsers, twice", `spec: {authorizedUsers: [alice, alice]}`, "Duplicate value"},

		{"backupsEnabled and swapSize", `spec: {backupsEnabled: true, swapSize: 512}`, ""},
		{"swapSize 0", `spec: {swapSize: 0}`, ""},
		{"swapSize negative", `spec: {swapSize: -1}`, "greater than or equal to 0"},
		{"swap_size", `spec: {swap_size: 512}`, "unknown field"},

		{"placementGroup", `spec: {placementGroup: {id: 7, compliant_only: true}}`, ""},
		{"placementGroup without id", `spec: {placementGroup: {compliant_only: true}}`, "placementGroup.id: Required value"},
		{"placementGroup id 0", `spec: {placementGroup: {id: 0}}`, "greater than or equal to 1"},

		{"vpcID", `spec: {vpcID: 9}`, ""},
		{"vpcID 0", `spec: {vpcID: 0}`, "greater than or equal to 1"},
		{"ipv6Options", `spec: {ipv6Options: {enableSLAAC: true, enableRanges: ["/64"], isPublicIPv6: false}}`, ""},
		{"ipv6Options, a range that is none", `spec: {ipv6Options: {enableRanges: ["64"]}}`, "should match"},

		{"disks", `spec: {osDisk: {size: 20Gi, filesystem: ext4}, dataDisks: {sdb: {size: 10G, label: data}}}`, ""},
		{"disk size a number", `spec: {osDisk: {size: 1073741824}}`, ""},
		{"disk without size", `spec: {osDisk: {label: os}}`, "osDisk.size: Required value"},
		{"disk of size 0", `spec: {osDisk: {size: "0"}}`, "above 0"},
		{"disk of number 0", `spec: {osDisk: {size: 0}}`, "above 0"},
		{"disk of negative size", `spec: {dataDisks: {sdc: {size: -1Gi}}}`, "above 0"},
		{"disk size no quantity", `spec: {osDisk: {size: large}}`, "osDisk.size"},
		{"disk with an unknown filesystem", `spec: {osDisk: {size: 1Gi, filesystem: xfs}}`, "Unsupported value"},
		{"data disk on the root device", `spec: {dataDisks: {sda: {size: 1Gi}}}`, "unknown field"},
		{"no data disks", `spec: {dataDisks: {}}`, "should have at least 1 properties"},

		{"kernel", `spec: {configuration: {kernel: linode/grub2}}`, ""},
		{"kernel too long", `spec: {configuration: {kernel: ` + strings.Repeat("k", 101) + `}}`, "100"},
	} {
		t.Run(test.name, func(t *testing.T) { expectAdmission(t, test.spec, test.refusal) })
	}
}

func TestKubeletAdmission(t *testing.T) {
	for _, test := range []struct{ name, kubelet, refusal string }{
		{"everything", `{clusterDNS: [10.128.0.10, "fd00::10"], maxPods: 110, podsPerCore: 10, systemReserved: {cpu: 100m, memory: 100Mi,
			ephemeral-storage: 1Gi, pid: "100"}, kubeReserved: {cpu: 50m}, evictionHard: {memory.available: 5%, nodefs.available: 10%,
			nodefs.inodesFree: 5%, imagefs.available: 15.5%, imagefs.inodesFree: 5%, pid.available: 100Mi}, evictionSoft: {memory.available: 200Mi},
			evictionSoftGracePeriod: {memory.available: 1m30s}, evictionMaxPodGracePeriod: 60, imageGCHighThresholdPercent: 85,
			imageGCLowThresholdPercent: 80, cpuCFSQuota: false}`, ""},
		{"clusterDNS, no address", `{clusterDNS: [kube-dns]}`, "must be IP addresses"},
		{"clusterDNS, four", `{clusterDNS: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4]}`, "at most 3 items"},
		{"maxPods 0", `{maxPods: 0}`, "greater than or equal to 1"},
		{"podsPerCore negative", `{podsPerCore: -1}`, "greater than or equal to 0"},
		{"podsPerCore equal to maxPods", `{maxPods: 20, podsPerCore: 20}`, ""},
		{"podsPerCore above maxPods", `{maxPods: 20, podsPerCore: 21}`, "podsPerCore must not be above maxPods"},
		{"podsPerCore without maxPods", `{podsPerCore: 200}`, ""},

		{"systemReserved, unknown key", `{systemReserved: {gpu: "1"}}`, "keys of systemReserved"},
		{"systemReserved, negative", `{systemReserved: {memory: -1Mi}}`, "values of systemReserved"},
		{"systemReserved, no quantity", `{systemReserved: {memory: much}}`, "values of systemReserved"},
		{"kubeReserved, unknown key", `{kubeReserved: {storage: 1Gi}}`, "keys of kubeReserved"},
		{"kubeReserved, negative", `{kubeReserved: {cpu: -1m}}`, "values of kubeReserved"},
		{"kubeReserved, no quantity", `{kubeReserved: {cpu: 10%}}`, "values of kubeReserved"},

		{"evictionHard, unknown key", `{evictionHard: {memory: 5%}}`, "keys of evictionHard"},
		{"evictionHard, over 100%", `{evictionHard: {memory.available: 101%}}`, "values of evictionHard"},
		{"evictionHard, exactly 100%", `{evictionHard: {memory.available: 100%}}`, ""},
		{"evictionHard, negative", `{evictionHard: {memory.available: -5Mi}}`, "values of evictionHard"},
		{"evictionHard, negative share", `{evictionHard: {memory.available: -5%}}`, "values of evictionHard"},
		{"evictionSoft without grace period", `{evictionSoft: {memory.available: 5%}}`, "needs one in evictionSoftGracePeriod"},
		{"evictionSoft, grace period of another key", `{evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {pid.available: 1m}}`, "needs one in evictionSoftGracePeriod"},
		{"grace period without evictionSoft", `{evictionSoftGracePeriod: {pid.available: 1m}}`, "needs one in evictionSoft"},
		{"evictionSoft, unknown key", `{evictionSoft: {cpu.available: 5%}, evictionSoftGracePeriod: {cpu.available: 1m}}`, "keys of evictionSoft"},
		{"evictionSoft, no threshold", `{evictionSoft: {pid.available: low}, evictionSoftGracePeriod: {pid.available: 1m}}`, "values of evictionSoft"},
		{"grace period 0", `{evictionSoft: {pid.available: 5%}, evictionSoftGracePeriod: {pid.available: 0s}}`, "durations above 0"},
		{"grace period no duration", `{evictionSoft: {pid.available: 5%}, evictionSoftGracePeriod: {pid.available: soon}}`, "evictionSoftGracePeriod"},
		{"evictionMaxPodGracePeriod negative", `{evictionMaxPodGracePeriod: -1}`, "greater than or equal to 0"},

		{"image thresholds the wrong way round", `{imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 80}`, "must be above"},
		{"image thresholds equal", `{imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80}`, "must be above"},
		{"image threshold of 101%", `{imageGCHighThresholdPercent: 101}`, "less than or equal to 100"},
		{"image threshold negative", `{imageGCLowThresholdPercent: -1}`, "greater than or equal to 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			expectAdmission(t, "spec: {kubelet: "+test.kubelet+"}", test.refusal)
		})
	}
}

func expectAdmission(t *testing.T, spec, refusal string) {
	t.Helper()
	_, err := admit(t, spec)
	switch {
	case refusal == "" && err != nil:
		t.Fatalf("refused: %v", err)
	case refusal != "" && err == nil:
		t.Fatalf("accepted; expected a refusal with %q", refusal)
	case refusal != "" && !strings.Contains(err.Error(), refusal):
		t.Fatalf("refused with %q; expected a message with %q", err, refusal)
	}
}

func TestDefaults(t *testing.T) {
	class, err := admit(t, ``)
	if err != nil {
		t.Fatal(err)
	}
	if class.Spec.Image != v1alpha1.DefaultImage {
		t.Errorf("image is %q, expected the default %q", class.Spec.Image, v1alpha1.DefaultImage)
	}
}
