package explore

// graph has an edge for each step from one state to another.
type graph struct{ from, to []int32 }

func (g *graph) edge(from, to int32) {
	g.from, g.to = append(g.from, from), append(g.to, to)
}

// paths counts the paths from the first state to all states without an outgoing
// edge, and returns the length of the longest path. States on a circle, and
// states that a circle leads to, count for none.
func (g *graph) paths() (count float64, longest int) {
	n := int32(1)
	for _, to := range g.to {
		n = max(n, to+1)
	}
	// The edges of one state are next to each other in out.
	first := make([]int, n+1)
	for _, from := range g.from {
		first[from+1]++
	}
	for i := range n {
		first[i+1] += first[i]
	}
	out, filled := make([]int32, len(g.to)), make([]int, n)
	into := make([]int32, n)
	for i, from := range g.from {
		out[first[from]+filled[from]] = g.to[i]
		filled[from]++
		into[g.to[i]]++
	}
	ways, depth := make([]float64, n), make([]int, n)
	ways[0] = 1
	for ready := []int32{0}; len(ready) > 0; {
		at := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		next := out[first[at]:first[at+1]]
		if len(next) == 0 {
			count += ways[at]
			longest = max(longest, depth[at])
		}
		for _, to := range next {
			ways[to] += ways[at]
			depth[to] = max(depth[to], depth[at]+1)
			if into[to]--; into[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return count, longest
}
