package linodesim

import (
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/fault"
)

// profileRules are the fault rules that a profile stands for. A request meets
// one of them at most, in this order; lists with a fault lag as others do.
func profileRules(p Profile) []Rule {
	t, lists := p.Trouble, Rule{Kind: fault.Lists, Stale: p.StaleLists, UpTo: true}
	missing, shifted := lists, lists
	missing.Missing, missing.Probability = 1, t.MissingEntry
	shifted.Shift, shifted.Probability = 1, t.PageShift
	var out []Rule
	for _, r := range []Rule{
		{Hang: true, Probability: t.Hang},
		{Kind: fault.Reads, Status: http.StatusNotFound, Reason: "Not found", Probability: t.NotFound},
		{Method: http.MethodPut, NoEffect: true, Probability: t.NoEffect},
		{Method: http.MethodDelete, NoEffect: true, Probability: t.NoEffect},
		{Kind: fault.Writes, Drop: true, AfterEffect: true, Probability: t.LostAnswer},
		missing, shifted,
	} {
		if r.Probability > 0 {
			out = append(out, r)
		}
	}
	for _, r := range []Rule{{Kind: fault.Reads, Stale: p.StaleReads, UpTo: true}, lists} {
		if r.Stale > 0 {
			out = append(out, r)
		}
	}
	return out
}
