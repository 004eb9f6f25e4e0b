package main

import (
	"fmt"
	"strings"

	cadvisor "github.com/google/cadvisor/info/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/uuid"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

// capacity is the size of the machine, as a flag: cpu=2,memory=4022024Ki.
type capacity corev1.ResourceList

func (c *capacity) String() string { return "" }
func (c *capacity) Type() string   { return "resource=quantity,..." }

func (c *capacity) Set(text string) error {
	*c = capacity{}
	for _, pair := range strings.Split(text, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return fmt.Errorf("%q must be a resource's name, =, and a quantity: %w", pair, err)
		}
		(*c)[corev1.ResourceName(name)] = quantity
	}
	for _, needed := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if _, there := (*c)[needed]; !there {
			return fmt.Errorf("%q lacks %s", text, needed)
		}
	}
	return nil
}

// machineInfo reports the size in place of cAdvisor, and a new boot ID, because each boot of a machine is another process.
type machineInfo struct {
	cadvisortest.Fake
	capacity capacity
	bootID   string
}

func newMachineInfo(node string, size capacity) *machineInfo {
	return &machineInfo{cadvisortest.Fake{NodeName: node}, size, string(uuid.NewUUID())}
}

func (m *machineInfo) MachineInfo() (*cadvisor.MachineInfo, error) {
	cpu, memory := m.capacity[corev1.ResourceCPU], m.capacity[corev1.ResourceMemory]
	return &cadvisor.MachineInfo{
		NumCores: int(cpu.Value()), InstanceID: cadvisor.InstanceID(m.NodeName), BootID: m.bootID,
		MemoryCapacity: uint64(memory.Value()), //nolint:gosec // a machine's memory
	}, nil
}

func (m *machineInfo) VersionInfo() (*cadvisor.VersionInfo, error) {
	return &cadvisor.VersionInfo{KernelVersion: "6.1.0", ContainerOsVersion: "Debian GNU/Linux 12 (bookworm)"}, nil
}

// containers manages no cgroups; it counts reserved resources as the kubelet's own manager does.
type containers struct {
	cm.ContainerManager
	capacity capacity
	reserved corev1.ResourceList
}

// newContainers works out the reservation from the kubelet's configuration.
func newContainers(size capacity, cfg *kubeletconfig.KubeletConfiguration) (*containers, error) {
	reserved := corev1.ResourceList{}
	for _, list := range []map[string]string{cfg.KubeReserved, cfg.SystemReserved} {
		for name, amount := range list {
			quantity, err := resource.ParseQuantity(amount)
			if err != nil {
				return nil, fmt.Errorf("reserved %s: %q: %w", name, amount, err)
			}
			add(reserved, corev1.ResourceName(name), quantity)
		}
	}
	thresholds, err := eviction.ParseThresholdConfig(cfg.EnforceNodeAllocatable, cfg.EvictionHard, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, threshold := range thresholds {
		name, counts := map[evictionapi.Signal]corev1.ResourceName{
			evictionapi.SignalMemoryAvailable: corev1.ResourceMemory,
			evictionapi.SignalNodeFsAvailable: corev1.ResourceEphemeralStorage,
		}[threshold.Signal]
		if whole, known := size[name]; counts && known {
			add(reserved, name, *evictionapi.GetThresholdQuantity(threshold.Value, &whole))
		}
	}
	devices := corev1.ResourceList{}
	for name, quantity := range size {
		if strings.Contains(string(name), "/") {
			devices[name] = quantity
		}
	}
	return &containers{cm.NewStubContainerManagerWithDevicePluginResource(devices), size, reserved}, nil
}

func add(list corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	sum := list[name]
	sum.Add(quantity)
	list[name] = sum
}

func (c *containers) GetNodeAllocatableReservation() corev1.ResourceList { return c.reserved }

func (c *containers) GetCapacity(bool) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: c.capacity[corev1.ResourceEphemeralStorage]}
}
