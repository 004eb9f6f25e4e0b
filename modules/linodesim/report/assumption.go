package report

// Assumption names one thing that the operator relies on and that no recorded answer proves. The simulator breaks it on request
// (linodesim's Sim.Lie), and a run of lkeprobe judges it on an account.
type Assumption string

// The assumptions. Each has the name of the behaviour that breaks it.
const (
	LateIDs        Assumption = "late-ids"         // a node has an instance ID within minutes of its request
	LateTaints     Assumption = "late-taints"      // a Kubernetes Node has its pool's taints soon after it registers
	OldLists       Assumption = "old-lists"        // a list shows a write within LIST_LAG
	OldReads       Assumption = "old-reads"        // a read of one object shows a write within SETTLE_TIME
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
		LateIDs, LateTaints, OldLists, OldReads, LateWrites, LostTags, LoweredCounts, LessMemory, ReturningNodes, NoLimitHeaders,
		UnknownRefusal, HangingPools, OtherNames,
	}
}

// Verdicts on an assumption.
const (
	Holds   Verdict = "holds"
	Broken  Verdict = "broken"
	NotSeen Verdict = "not seen" // nothing in the run showed it
)

// Judgement is the result of a run about an assumption.
type Judgement struct {
	Assumption Assumption `json:"assumption"`
	Means      string     `json:"means"` // the assumption in words
	Seen       string     `json:"seen"`
	Verdict    Verdict    `json:"verdict"`
	Setting    string     `json:"setting"` // the chart's setting to change when it is broken; "" = no setting helps
}

// Scenario is one thing that the operator had to do in the run.
type Scenario struct {
	Name    string  `json:"name"`
	Expects string  `json:"expects"`
	Saw     string  `json:"saw"`
	Passed  bool    `json:"passed"`
	Ran     bool    `json:"ran"`
	Seconds float64 `json:"seconds"`
	Linodes int     `json:"linodes"` // that came for it
	Calls   int     `json:"calls"`   // of the operator to the Linode API; -1 = its metrics could not be read
	Dollars float64 `json:"dollars"` // at whole hours
}
