package demo

import (
	"fmt"
	"time"
)

// Result has the counts of the closing line.
type Result struct {
	of         string // tier=..., mode=instance tier=none or mode=clusterapi
	Pods       int    // most pods of the Deployment that were ready at once
	Wanted     int
	nodes      int // most nodes of Karpenter's that were ready at once
	nodeClaims int // NodeClaims that existed during the run
	surplus    int // created instances minus NodeClaims
	Leaked     int // instances, pools and Machines that are not the user's, NodeBalancers and volumes, at the end
	apiCalls   int
	elapsed    time.Duration
	beside     *shown // nil except in instance mode
	ofMachines bool
	machines   int // most Machines that existed at once, in clusterapi mode
}

// shown has the figures of the neighbours after the reboot, in instance mode.
type shown struct {
	beside
	reboots int // after which the node was Ready again with the same pods
}

func (s *shown) volumesVerdict() string {
	if s.volumes > 0 && s.attached == s.volumes {
		return "ok"
	}
	return fmt.Sprintf("%d/%d", s.attached, s.volumes)
}

func (s *shown) String() string {
	return fmt.Sprintf(" backends=%d/%d volumes=%s reboots=%d", s.up, s.backends, s.volumesVerdict(), s.reboots)
}

// problems returns a text for each figure that is wrong. It returns nothing outside of instance mode.
func (s *shown) problems() []string {
	if s == nil {
		return nil
	}
	problems := s.missing()
	if s.reboots != 1 {
		problems = append(problems, fmt.Sprintf("the node and its pods survived %d reboots, want 1", s.reboots))
	}
	return problems
}

// problems returns a text for each figure that is wrong.
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
	wrong(r.ofMachines && r.machines != r.nodeClaims, "%d Machines for %d NodeClaims", r.machines, r.nodeClaims)
	wrong(r.surplus != 0, "created instances minus NodeClaims: %d, want 0", r.surplus)
	wrong(r.Leaked != 0, "%d instances, pools, Machines, NodeBalancers or volumes are left", r.Leaked)
	return append(problems, r.beside.problems()...)
}

func (r Result) String() string {
	verdict := "ok"
	if len(r.problems()) > 0 {
		verdict = "failed"
	}
	neighbours := ""
	if r.beside != nil {
		neighbours = r.beside.String()
	}
	counts := fmt.Sprintf("nodes=%d nodeclaims=%d", r.nodes, r.nodeClaims)
	if r.ofMachines {
		counts = fmt.Sprintf("machines=%d", r.machines)
	}
	return fmt.Sprintf("demo: %s %s pods=%d/%d %s surplus=%d leaked=%d%s api_calls=%d elapsed=%s",
		verdict, r.of, r.Pods, r.Wanted, counts, r.surplus, r.Leaked, neighbours, r.apiCalls, r.elapsed.Round(time.Second))
}
