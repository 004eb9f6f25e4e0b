package report

// Assumption names one thing that the operator relies on and that no recorded answer proves. The simulator breaks it on request
// (linodesim's Sim.Lie), and a run of lkeprobe judges it on an account.
type Assumption string

// The assumptions, each named after what breaks it.
const (
	LateIDs        Assumption = "late-ids"         // a node has an instance ID within minutes of its request
	LateTaints     Assumption = "late-taints"      // a Kubernetes Node has its pool's taints soon after it registers
	OldLists       Assumption = "old-lists"        // a list shows a write within LIST_LAG
	LateWrites     Assumption = "late-writes"      // a write without an answer takes effect within LATE_EFFECT, or never
	LostTags       Assumption = "lost-tags"        // tags stay as a client wrote them
	LoweredCounts  Assumption = "lowered-counts"   // LKE leaves the count of a pool as a client set it
	LessMemory     Assumption = "less-memory"      // a Kubernetes Node reports at least the memory that the operator expects
	ReturningNodes Assumption = "returning-nodes"  // LKE does not replace a node that a client deleted
	NoLimitHeaders Assumption = "no-limit-headers" // answers announce their rate limit in headers
	UnknownRefusal Assumption = "unknown-refusal"  // a refused purchase says so in words that the operator knows
	HangingPools   Assumption = "hanging-pools"    // an accepted node gets a Linode
	OtherNames     Assumption = "other-names"      // a Kubernetes Node is named after its Linode's label
)

// Assumptions lists all of them.
func Assumptions() []Assumption {
	return []Assumption{
		LateIDs, LateTaints, OldLists, LateWrites, LostTags, LoweredCounts, LessMemory, ReturningNodes, NoLimitHeaders, UnknownRefusal,
		HangingPools, OtherNames,
	}
}
