package demo

import (
	"fmt"
	"time"
)

// Result has the counts of the closing line.
type Result struct {
	of         string // tier=... or mode=instance
	Pods       int    // most pods of the Deployment that were ready at once
	Wanted     int
	nodes      int // most nodes of Karpenter's that were ready at once
	nodeClaims int // NodeClaims that existed during the run
	surplus    int // instances made beyond NodeClaims
	Leaked     int // instances and pools that are not the user's, at the end
	apiCalls   int
	elapsed    time.Duration
}

// problems returns what is not as it must be; nothing when the run was good.
func (r Result) problems() []string {
	var problems []string
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	wrong(r.Pods != r.Wanted, "%d of %d pods became ready", r.Pods, r.Wanted)
	wrong(r.nodes == 0, "no node came up")
	wrong(r.nodes != r.nodeClaims, "%d nodes for %d NodeClaims", r.nodes, r.nodeClaims)
	wrong(r.surplus != 0, "%d instances beyond NodeClaims were made", r.surplus)
	wrong(r.Leaked != 0, "%d instances or pools are left", r.Leaked)
	return problems
}

func (r Result) String() string {
	verdict := "ok"
	if len(r.problems()) > 0 {
		verdict = "failed"
	}
	return fmt.Sprintf("demo: %s %s pods=%d/%d nodes=%d nodeclaims=%d surplus=%d leaked=%d api_calls=%d elapsed=%s",
		verdict, r.of, r.Pods, r.Wanted, r.nodes, r.nodeClaims, r.surplus, r.Leaked, r.apiCalls, r.elapsed.Round(time.Second))
}
