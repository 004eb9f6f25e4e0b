package linodesim

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// Each lie goes further than any Profile and Behaviour. TimeScale does not shorten these times.
const (
	LieID          = 20 * time.Minute // from a node's request to its Linode's ID, with report.LateIDs
	LieList        = 10 * time.Minute // how far lists lag behind, with report.OldLists
	LieRead        = time.Minute      // how far reads of one object lag behind, with report.OldReads
	LieWrite       = 5 * time.Minute  // from a write to its effect, with report.LateWrites
	LieTags        = 20 * time.Second // from a client's change of tags to their loss, with report.LostTags
	LieCount       = 30 * time.Second // from a client's larger count to LKE's lower one, with report.LoweredCounts
	LieReturn      = 90 * time.Second // from a node's deletion to the node that LKE makes in its place, with report.ReturningNodes
	LieTaints      = 2 * time.Minute  // from a Node's registration to its pool's taints, with report.LateTaints
	LieMemoryShare = 0.25             // of a plan's memory that a Node lacks, with report.LessMemory
)

// lieRefusal has the words of report.UnknownRefusal.
const lieRefusal = "Your request cannot be fulfilled (E4711)."

// lieRules are the lies that rules for requests tell.
var lieRules = map[report.Assumption][]Rule{
	report.OldLists:   {{Kind: Lists, View: View{Stale: LieList}}},
	report.OldReads:   {{Kind: Reads, View: View{Stale: LieRead}}},
	report.LateWrites: {{Kind: Writes, View: View{Late: LieWrite}}},
	report.UnknownRefusal: {
		{Method: "POST", Route: "/lke/clusters/{clusterId}/pools", Answer: Answer{Status: 400, Reason: lieRefusal}},
		{Method: "POST", Route: "/linode/instances", Answer: Answer{Status: 400, Reason: lieRefusal}},
	},
}

// Lie makes the platform break an assumption of the operator's from now on, until HealAll. The world tells the lies about the account.
// The program that simulates Kubernetes asks Lies for the lies about Nodes: report.LateTaints, LessMemory and OtherNames.
func (f *Faults) Lie(about report.Assumption) error {
	if !slices.Contains(report.Assumptions(), about) {
		return fmt.Errorf("lie is %q; it must be one of %v", about, report.Assumptions())
	}
	if f.Lies(about) {
		return nil
	}
	do(f.world, func(w *world.Moment) {
		w.Faults().Lie(about, world.Lies{ID: LieID, Tags: LieTags, Count: LieCount, Return: LieReturn})
	})
	for _, rule := range lieRules[about] {
		f.Fail(rule)
	}
	return nil
}

// Lies reports whether the platform breaks an assumption on request.
func (f *Faults) Lies(about report.Assumption) bool {
	return at(f.world, owner, func(w *world.Moment) bool { return w.Faults().Lies(about) })
}
