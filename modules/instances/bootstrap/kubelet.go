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
	// AllowSwap: the kubelet starts although swap is on, which the user data then leaves on. Pods use it only as far as the kubelet's own
	// defaults let them.
	AllowSwap bool
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
				return wrong("Node.Kubelet."+m.field, "%q: %q is not what a kubelet takes there", key, m.values[key])
			}
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

// settings returns those that are set, in one order.
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
	fields := map[string]any{}
	for _, s := range k.settings() {
		fields[s.field] = s.value
	}
	return fields
}

// args returns the settings as flags without dashes, with that of an external cloud provider.
func (k *Kubelet) args() []string {
	args := []string{"cloud-provider=external"}
	for _, s := range k.settings() {
		args = append(args, s.flag+"="+s.text)
	}
	return args
}
