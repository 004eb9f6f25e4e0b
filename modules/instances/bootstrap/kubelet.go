package bootstrap

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kubelet lists the kubelet settings of a node; zero values and nil leave them to
// the distribution.
type Kubelet struct {
	ClusterDNS                  []string
	MaxPods, PodsPerCore        *int
	SystemReserved              map[string]string
	KubeReserved                map[string]string
	EvictionHard, EvictionSoft  map[string]string
	EvictionSoftGracePeriod     map[string]string
	EvictionMaxPodGracePeriod   *int
	ImageGCHighThresholdPercent *int
	ImageGCLowThresholdPercent  *int
	CPUCFSQuota                 *bool
	// ServerTLSBootstrap: the kubelet requests its serving certificate from the cluster
	// instead of signing one itself.
	ServerTLSBootstrap bool
	// AllowSwap: the kubelet starts although swap is on, and the user data leaves swap on. Pods use swap only as far as the kubelet's own
	// defaults let them.
	AllowSwap bool
	// Extra has further fields of a KubeletConfiguration (kubelet.config.k8s.io/v1beta1) in the form of JSON. It must not have a field for
	// which ManagedField returns a reason. The caller checks that the kubelet accepts names and values. Custom refuses Extra, and so do k3s
	// and RKE2 before v1.32.
	Extra map[string]any
}

// managedFields are the fields of a KubeletConfiguration that Extra may not have, each with the reason. Extra may not have the fields of
// settings, either.
var managedFields = map[string]string{
	"apiVersion": "the user data sets it", "kind": "the user data sets it",
	"failSwapOn": "it follows the size of swap", "serverTLSBootstrap": "a setting of the operator decides about it",
	"registerNode": "the node has to register", "registerWithTaints": "the taints come from the NodePool",
	"providerID":     "the cloud controller manager sets it",
	"authentication": "the cluster's servers have to reach the kubelet", "authorization": "the cluster's servers have to reach the kubelet",
	"port": "the cluster's servers have to reach the kubelet", "rotateCertificates": "the node's certificate has to be renewed",
	"tlsCertFile": "the cluster signs the serving certificate", "tlsPrivateKeyFile": "the cluster signs the serving certificate",
	"reservedSystemCPUs":            "the node's allocatable is computed from systemReserved",
	"localStorageCapacityIsolation": "the node's allocatable contains ephemeral-storage",
}

// ownFields are the fields that Kubelet has by their own names.
var ownFields = []string{"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft",
	"evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota"}

// ManagedField returns why a field of a KubeletConfiguration may not be in Kubelet.Extra, "" for the others.
func ManagedField(name string) string {
	if slices.Contains(ownFields, name) {
		return "it is a field of its own"
	}
	return managedFields[name]
}

// setting is one setting with its name in a KubeletConfiguration and as a flag.
type setting struct {
	field, flag string
	value       any // of the configuration
	text        string
}

var (
	resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	quantity     = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([EPTGMk]i?|m)?%?$`)
	signal       = regexp.MustCompile(`^[a-zA-Z]+(\.[a-zA-Z]+)+$`)
	duration     = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)
)

func (k *Kubelet) check() error {
	for i, address := range k.ClusterDNS {
		if net.ParseIP(address) == nil {
			return wrong(fmt.Sprintf("Node.Kubelet.ClusterDNS[%d]", i), "%q is no IP address", address)
		}
	}
	for _, m := range []struct {
		field      string
		values     map[string]string
		key, value *regexp.Regexp
	}{
		{"SystemReserved", k.SystemReserved, resourceName, quantity},
		{"KubeReserved", k.KubeReserved, resourceName, quantity},
		{"EvictionHard", k.EvictionHard, signal, quantity},
		{"EvictionSoft", k.EvictionSoft, signal, quantity},
		{"EvictionSoftGracePeriod", k.EvictionSoftGracePeriod, signal, duration},
	} {
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			if !m.key.MatchString(key) || !m.value.MatchString(m.values[key]) {
				return wrong("Node.Kubelet."+m.field, "a kubelet does not accept %q: %q", key, m.values[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.Extra)) {
		if why := ManagedField(key); why != "" {
			return wrong("Node.Kubelet.Extra["+key+"]", "%s", why)
		}
	}
	for field, value := range map[string]*int{
		"MaxPods": k.MaxPods, "PodsPerCore": k.PodsPerCore, "EvictionMaxPodGracePeriod": k.EvictionMaxPodGracePeriod,
		"ImageGCHighThresholdPercent": k.ImageGCHighThresholdPercent, "ImageGCLowThresholdPercent": k.ImageGCLowThresholdPercent,
	} {
		if value != nil && *value < 0 {
			return wrong("Node.Kubelet."+field, "%d is negative", *value)
		}
	}
	return nil
}

// serverTLSFlag is the flag for serverTLSBootstrap.
const serverTLSFlag = "rotate-server-certificates"

// settings returns the fields that are set, in one order.
func (k *Kubelet) settings() []setting {
	var all []setting
	number := func(field, flag string, value *int) {
		if value != nil {
			all = append(all, setting{field, flag, *value, strconv.Itoa(*value)})
		}
	}
	table := func(field, flag, between string, values map[string]string) {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, key+between+values[key])
		}
		if len(parts) > 0 {
			all = append(all, setting{field, flag, values, strings.Join(parts, ",")})
		}
	}
	if len(k.ClusterDNS) > 0 {
		all = append(all, setting{"clusterDNS", "cluster-dns", k.ClusterDNS, strings.Join(k.ClusterDNS, ",")})
	}
	number("maxPods", "max-pods", k.MaxPods)
	number("podsPerCore", "pods-per-core", k.PodsPerCore)
	table("systemReserved", "system-reserved", "=", k.SystemReserved)
	table("kubeReserved", "kube-reserved", "=", k.KubeReserved)
	table("evictionHard", "eviction-hard", "<", k.EvictionHard)
	table("evictionSoft", "eviction-soft", "<", k.EvictionSoft)
	table("evictionSoftGracePeriod", "eviction-soft-grace-period", "=", k.EvictionSoftGracePeriod)
	number("evictionMaxPodGracePeriod", "eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	number("imageGCHighThresholdPercent", "image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	number("imageGCLowThresholdPercent", "image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		all = append(all, setting{"cpuCFSQuota", "cpu-cfs-quota", *k.CPUCFSQuota, strconv.FormatBool(*k.CPUCFSQuota)})
	}
	if k.AllowSwap {
		all = append(all, setting{"failSwapOn", "fail-swap-on", false, "false"})
	}
	if k.ServerTLSBootstrap {
		all = append(all, setting{"serverTLSBootstrap", serverTLSFlag, true, "true"})
	}
	return all
}

// configuration returns the settings as fields of a KubeletConfiguration.
func (k *Kubelet) configuration() map[string]any {
	fields := maps.Clone(k.Extra)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, s := range k.settings() {
		fields[s.field] = s.value
	}
	return fields
}

// configured returns a KubeletConfiguration with these fields.
func configured(fields map[string]any) map[string]any {
	document := maps.Clone(fields)
	document["apiVersion"], document["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	return document
}

// args returns the settings as flags without dashes, with the flag of an external cloud provider. Extra has no flags.
func (k *Kubelet) args() []string {
	args := []string{"cloud-provider=external"}
	for _, s := range k.settings() {
		args = append(args, s.flag+"="+s.text)
	}
	return args
}
