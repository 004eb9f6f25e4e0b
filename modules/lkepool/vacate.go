package lkepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Sweep says what a call of Collect goes by.
type Sweep struct {
	// Alive returns the names of all claimants that exist. It is called after
	// the cluster was read, and must itself read afresh: a claimant exists before
	// its claim does, so a claim that was read and has no claimant afterwards is
	// one that was left behind. An error ends the sweep with nothing released.
	Alive func(ctx context.Context) ([]string, error)
	// Vacate says whether a node that is to be released may go now, and may see
	// to it that a later sweep gets a better answer. On false, or an error, the
	// node stays until the next sweep, and no other node waits for it. It is
	// called several times at once, under no lock, and no more than once for a
	// node in one sweep. A node it was asked about may still be handed out, also
	// while it answers. Nil means that every node may go.
	Vacate func(ctx context.Context, node Node) (bool, error)
}

// vacators bounds the calls of Sweep.Vacate at the same time.
const vacators = 16

// askToLeave asks about every candidate, and notes those that may go. It runs
// before any lock is taken: an answer may take its time, and what happens in
// that time to the node is found out under the lock of its key.
func (s *sweep) askToLeave(ctx context.Context, byKey map[string][]Pool) error {
	s.vacated = map[int]bool{}
	var (
		mu     sync.Mutex
		failed []error
	)
	each(s.prospects(byKey), vacators, func(node Node) {
		vacant, err := true, error(nil)
		if s.how.Vacate != nil {
			vacant, err = s.how.Vacate(ctx, node)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = append(failed, fmt.Errorf("vacating instance %d: %w", node.InstanceID, err))
		}
		s.vacated[node.InstanceID] = vacant && err == nil
	})
	if err := errors.Join(failed...); err != nil {
		return &Error{Kind: KindUnavailable, Op: "collect", Err: err}
	}
	return nil
}

// prospects are the candidates of all keys.
func (s *sweep) prospects(byKey map[string][]Pool) []Node {
	var nodes []Node
	for hash, pools := range byKey {
		free, abandoned := s.candidates(hash, pools)
		for _, pool := range pools {
			for _, member := range pool.Members {
				if slices.Contains(free, member.ID) || slices.Contains(abandoned, member.ID) {
					nodes = append(nodes, s.a.node(pool, member.NodeID, member.Instance))
				}
			}
		}
	}
	return nodes
}
