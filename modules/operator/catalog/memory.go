package catalog

import (
	"cmp"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// The kernel takes 64 bytes for each page of 4096.
	pageStructures = 64
	// A g6-standard-2 lost 172280 KiB of its memory, of which 65536 were page structures. A g6-standard-1 lost less.
	fixedLoss = 106744 << 10

	// A user's image may reserve memory for a crash kernel or huge pages. No such node was recorded.
	shareOfOtherImages = 0.075

	gib = 1 << 30
)

// recordedMemory lists the memory of recorded LKE nodes in bytes, by the plan's MiB: a g6-standard-1 and a g6-standard-2. The memory of a
// guest depends on the size of the plan and not on its class.
var recordedMemory = map[int]int64{
	2048: 2027296 << 10,
	4096: 4022024 << 10,
}

// estimate has the figures of a plan of which no node has registered, in bytes.
type estimate struct {
	memory   int64 // capacity
	reserved int64 // the part of the capacity that the platform keeps from pods; 0: the kubelet's settings decide
}

// estimated returns the estimate for a plan. A share that a user has set replaces the whole estimate, because a user has no other way to
// correct a wrong estimate.
func estimated(p Plan, s Settings) estimate {
	plan := int64(p.Memory) * mib
	if s.MemoryOverhead != nil {
		return estimate{memory: less(plan, *s.MemoryOverhead)}
	}
	recorded, is := recordedMemory[p.Memory]
	switch {
	case s.Tier == "" && !is:
		return estimate{memory: less(plan, shareOfOtherImages)}
	case !is:
		recorded = plan - plan/pageStructures - fixedLoss
	}
	if s.Tier != status.TierEnterprise {
		return estimate{memory: recorded}
	}
	return estimate{recorded, enterpriseReserve(plan) + memoryEviction}
}

func less(plan int64, share float64) int64 { return int64(float64(plan) * (1 - share)) }

// enterpriseReserve returns the memory that kubelets of LKE Enterprise are expected to reserve. The formula is not public: users report
// about 6 GiB for pods on plans of 8 GiB, which two formulas of other clouds explain. The larger result counts, because a node
// that holds less than planned cannot take its pods.
func enterpriseReserve(plan int64) int64 {
	return max(reservedByPod(defaultMaxPods), reservedByShare(plan))
}

func reservedByPod(pods int64) int64 { return (255 + 11*pods) * mib }

// reservedByShare reserves a share of the memory. The share of each further part is smaller.
func reservedByShare(plan int64) (reserved int64) {
	for _, part := range []struct{ size, percent int64 }{
		{4 * gib, 25}, {4 * gib, 20}, {8 * gib, 10}, {112 * gib, 6}, {1 << 62, 2},
	} {
		taken := min(plan, part.size)
		reserved, plan = reserved+taken/100*part.percent, plan-taken
	}
	return reserved
}

// TierIn returns the tier whose estimate counts. In other modes than lke nodes boot a user's image, so no tier's estimate counts.
func TierIn(mode v1alpha1.Mode, tier string) string {
	if mode != v1alpha1.ModeLKE {
		return ""
	}
	return cmp.Or(tier, status.TierStandard)
}
