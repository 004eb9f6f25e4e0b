package world

import "math/rand/v2"

// draws are the sources of chance, one for each subject, so that a draw for one subject does not change the draws of
// another.
type draws struct {
	rng     *rand.Rand // of LKE
	latency *rand.Rand // of answers
	side    *rand.Rand // of objects that are no part of LKE
}

// drawn makes the sources from a seed and a stream for each.
func drawn(seed uint64, rng, latency, side uint64) draws {
	source := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
	return draws{rng: source(rng), latency: source(latency), side: source(side)}
}
