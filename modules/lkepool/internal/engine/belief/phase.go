package belief

import "slices"

// Phase is how far a node is. It only goes forward, by [Node.become].
type Phase int

// The phases of a node, in the order in which it goes through them.
const (
	// Free: no claimant is known.
	Free Phase = iota
	// Reserved: chosen for a claimant, nothing is written yet.
	Reserved
	// Writing: the write of a claim is under way. rewriting: so it is, and an earlier one
	// has failed with an effect that is not known.
	Writing
	rewriting
	// Unsure: the write failed, and its effect is not known.
	Unsure
	// Held: a write's answer or a reading showed the claim.
	Held
	// Condemned: a removal was sent that the platform may have carried out, or may still
	// carry out. The node is not handed out again, and its removal is repeated until it
	// is gone.
	Condemned
	gone
)

// nodeSteps are the phases that may follow each: besides those later on the way, what a
// certain refusal takes back. A claim that was seen is taken back by nothing.
var nodeSteps = [...][]Phase{
	Free:      {Reserved, Held, Condemned, gone},
	Reserved:  {Free, Writing, Held, Condemned, gone},
	Writing:   {Free, Unsure, Held, Condemned, gone},
	rewriting: {Unsure, Held, Condemned, gone},
	Unsure:    {Free, rewriting, Held, Condemned, gone},
	Held:      {Writing, Condemned, gone},
	Condemned: {gone},
	gone:      {},
}

// become changes the phase, and refuses to go back: a condemned node stays so.
func (n *Node) become(next Phase) bool {
	switch {
	case next == n.Phase:
		return true
	case next == Free && !n.Claim.Since.IsZero(), !slices.Contains(nodeSteps[n.Phase], next):
		return false
	}
	n.Phase = next
	return true
}

// PoolPhase is how far a pool is. It only goes forward, by [Pool.become].
type PoolPhase int

// The phases of a pool.
const (
	Usable PoolPhase = iota
	// Frozen: a count was sent without an answer, and may take effect yet. No other one is
	// sent meanwhile.
	Frozen
	// Doomed: a deletion was sent that the platform may have carried out, or may still
	// carry out. Nothing of the pool is used any more, and its deletion is repeated until
	// it is gone.
	Doomed
	ended
)

// poolSteps are the phases that may follow each. A frozen count that cannot take effect
// any more is the only way back.
var poolSteps = [...][]PoolPhase{
	Usable: {Frozen, Doomed, ended},
	Frozen: {Usable, Doomed, ended},
	Doomed: {ended},
	ended:  {},
}

// become changes the phase, and refuses to go back.
func (p *Pool) become(next PoolPhase) bool {
	if next != p.Phase && !slices.Contains(poolSteps[p.Phase], next) {
		return false
	}
	p.Phase = next
	return true
}
