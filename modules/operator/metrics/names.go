package metrics

import "sync"

// maxNodePools bounds the series of one metric, so a client that makes and deletes NodePools cannot add series without end.
const maxNodePools = 200

// names are the values of a label that are names of objects. The first maxNodePools names since the start of the process have their own
// series.
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

// name returns the name, or "other" for an empty name and for names beyond the bound. isNew is true if a name gets its own series now.
func (n *names) name(of string) (name string, isNew bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case of == "":
		return other, false
	case n.known[of]:
		return of, false
	case len(n.known) >= maxNodePools:
		return other, false
	case n.known == nil:
		n.known = map[string]bool{}
	}
	n.known[of] = true
	return of, true
}
