package whatif

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/podusage"
)

// Basis has the requests of pods as used: the requests that pods would have if they requested as much as they use.
type Basis struct {
	Requests podusage.Requests
	Text     string // where they are from, for the report
}

// Use compares today's requests with requests as used. Prices are USD for a month.
//
// The price of a node counts half for its CPU and half for its memory, each divided by the allocatable amount. CPU and memory of a node
// with GPUs have no price, because users buy such a node for its GPUs.
type Use struct {
	Basis            string         `json:"basis"`
	Workloads        []WorkloadUse  `json:"workloads"`        // by what they do not use, dearest first
	RequestedMonthly float64        `json:"requestedMonthly"` // of today's nodes, by all pods
	UnusedMonthly    float64        `json:"unusedMonthly"`    // of that, not used
	Then             []Group        `json:"then"`             // with Karpenter and requests as used
	ThenMonthly      float64        `json:"thenMonthly"`
	Difference       float64        `json:"difference"` // to the report's ThenMonthly; negative = cheaper
	Unplaced         []Unplaced     `json:"unplaced,omitempty"`
	Unmeasured       map[string]int `json:"unmeasured,omitempty"` // pods that keep their requests, by workload
}

// WorkloadUse has the sums of the requests of one workload's pods, today and as used, in cores and bytes.
type WorkloadUse struct {
	Workload         string  `json:"workload"`
	Pods             int     `json:"pods"`
	CPU              float64 `json:"cpu"`
	CPUAsUsed        float64 `json:"cpuAsUsed"`
	Memory           float64 `json:"memory"`
	MemoryAsUsed     float64 `json:"memoryAsUsed"`
	RequestedMonthly float64 `json:"requestedMonthly"`
	UnusedMonthly    float64 `json:"unusedMonthly"`
}

// Short returns whether the workload uses more of a resource than it requests. A difference by rounding does not count.
func (w WorkloadUse) Short() bool {
	return w.CPUAsUsed > w.CPU+0.001*float64(w.Pods) || w.MemoryAsUsed > w.Memory+float64(w.Pods<<20)
}

// rate is the price of a core and of a byte of a node for a month.
type rate struct{ core, byte float64 }

func (r *run) rates() map[string]rate {
	rates := map[string]rate{}
	for _, node := range r.input.Cluster.Nodes {
		if gpus := node.Status.Allocatable[v1alpha1.ResourceNvidiaGPU]; !gpus.IsZero() {
			continue
		}
		half := r.monthly[node.Labels[corev1.LabelInstanceTypeStable]] / 2
		rates[node.Name] = rate{share(half, node.Status.Allocatable.Cpu().AsApproximateFloat64()),
			share(half, node.Status.Allocatable.Memory().AsApproximateFloat64())}
	}
	return rates
}

// use fills in the comparison and simulates the cluster with requests as used.
func (r *run) use(ctx context.Context, report *Report) error {
	basis := r.input.Use
	use := &Use{Basis: basis.Text, Unmeasured: map[string]int{}}
	asUsed := *r.input.Cluster
	asUsed.Pods, asUsed.DaemonSets = nil, nil
	workloads, rates := map[podusage.Workload]*WorkloadUse{}, r.rates()
	for _, pod := range r.input.Cluster.Pods {
		changed, known := basis.Requests.Pod(pod)
		asUsed.Pods = append(asUsed.Pods, changed)
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		workload := podusage.WorkloadOf(pod)
		if !known {
			use.Unmeasured[workload.String()]++
		}
		if workloads[workload] == nil {
			workloads[workload] = &WorkloadUse{Workload: workload.String()}
		}
		workloads[workload].add(resources.RequestsForPods(pod), resources.RequestsForPods(changed), rates[pod.Spec.NodeName])
	}
	for _, set := range r.input.Cluster.DaemonSets {
		asUsed.DaemonSets = append(asUsed.DaemonSets, basis.Requests.DaemonSet(set))
	}
	for _, w := range workloads {
		use.Workloads = append(use.Workloads, *w)
	}
	slices.SortFunc(use.Workloads, func(a, b WorkloadUse) int {
		return cmp.Or(cmp.Compare(b.UnusedMonthly, a.UnusedMonthly), cmp.Compare(a.Workload, b.Workload))
	})
	for _, w := range use.Workloads { // in one order, so that the sums are the same to the last digit
		use.RequestedMonthly += w.RequestedMonthly
		use.UnusedMonthly += w.UnusedMonthly
	}
	input := r.input
	input.Cluster, input.Use, input.Sensitivity = &asUsed, nil, false
	then, err := Run(ctx, input)
	if err != nil {
		return fmt.Errorf("with requests as used: %w", err)
	}
	use.Then, use.ThenMonthly, use.Unplaced = then.Then, then.ThenMonthly, then.Unplaced
	use.Difference = then.ThenMonthly - report.ThenMonthly
	report.Use = use
	return nil
}

func (w *WorkloadUse) add(today, asUsed corev1.ResourceList, price rate) {
	cpu, memory := today.Cpu().AsApproximateFloat64(), today.Memory().AsApproximateFloat64()
	usedCPU, usedMemory := asUsed.Cpu().AsApproximateFloat64(), asUsed.Memory().AsApproximateFloat64()
	w.Pods++
	w.CPU += cpu
	w.Memory += memory
	w.CPUAsUsed += usedCPU
	w.MemoryAsUsed += usedMemory
	w.RequestedMonthly += cpu*price.core + memory*price.byte
	w.UnusedMonthly += max(cpu-usedCPU, 0)*price.core + max(memory-usedMemory, 0)*price.byte
}

// shownWorkloads is the number of workloads in a report for people.
const shownWorkloads = 20

// Shown returns the first workloads, and the sum of the others.
func (u *Use) Shown() (first []WorkloadUse, rest string) {
	if len(u.Workloads) <= shownWorkloads {
		return u.Workloads, ""
	}
	unused := 0.0
	for _, w := range u.Workloads[shownWorkloads:] {
		unused += w.UnusedMonthly
	}
	return u.Workloads[:shownWorkloads], fmt.Sprintf("%s more do not use $%s a month.", plural(len(u.Workloads)-shownWorkloads, "workload"),
		money(unused))
}

// Sentences returns the meaning of the comparison in sentences.
func (r *Report) Sentences() (all []string) {
	u := r.Use
	all = append(all, fmt.Sprintf("Of $%s a month today, pods request $%s and do not use $%s of it. Nothing requests the other $%s.",
		money(r.TodayMonthly), money(u.RequestedMonthly), money(u.UnusedMonthly), money(r.TodayMonthly-u.RequestedMonthly)))
	difference := "the same as with today's requests"
	switch {
	case u.Difference < -0.005:
		difference = fmt.Sprintf("$%s less than with today's requests", money(-u.Difference))
	case u.Difference > 0.005:
		difference = fmt.Sprintf("$%s more than with today's requests", money(u.Difference))
	}
	all = append(all, fmt.Sprintf("With Karpenter and requests as used: $%s a month, %s.", money(u.ThenMonthly), difference))
	var short []string
	for _, w := range u.Workloads {
		if w.Short() {
			short = append(short, w.Workload)
		}
	}
	if len(short) > 0 {
		slices.Sort(short)
		all = append(all, fmt.Sprintf("%s more CPU or memory than requested: %s.", uses(len(short)), few(short)))
	}
	if len(u.Unmeasured) > 0 {
		pods := 0
		for _, n := range u.Unmeasured {
			pods += n
		}
		names := slices.Sorted(maps.Keys(u.Unmeasured))
		all = append(all, fmt.Sprintf("Nothing is known of %s, which keep their requests: %s.", plural(pods, "pod"), few(names)))
	}
	for _, unplaced := range u.Unplaced {
		all = append(all, fmt.Sprintf("With requests as used, no node holds %s (%s): %s.", plural(len(unplaced.Pods), "pod"), few(unplaced.Pods),
			strings.TrimSuffix(unplaced.Reason, ".")))
	}
	return all
}

func uses(n int) string {
	if n == 1 {
		return "1 workload uses"
	}
	return fmt.Sprintf("%d workloads use", n)
}

func cores(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", n), "0"), ".")
}

func gibibytes(bytes float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", bytes/(1<<30)), "0"), ".") + "Gi"
}
