package tagging

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A change that was refused is not tried again before this time: the pools of another release, say, are not ours to
// write to, and each attempt would cost requests.
const refusalPause = 10 * time.Minute

// refusals remembers which changes were refused. It is empty after a restart, which costs one attempt each.
type refusals struct {
	mu    sync.Mutex
	known map[types.UID]refusal
}

type refusal struct {
	tags  []string
	until time.Time
}

// pause is how long the same change is not to be tried; 0 when it may be.
func (r *refusals) pause(nodeClaim types.UID, tags []string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[nodeClaim]
	if !ok || !slices.Equal(known.tags, tags) {
		return 0
	}
	return max(0, time.Until(known.until))
}

// add also forgets what is over, NodeClaims that have gone among it.
func (r *refusals) add(nodeClaim types.UID, tags []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.known, func(_ types.UID, known refusal) bool { return !now.Before(known.until) })
	if r.known == nil {
		r.known = map[types.UID]refusal{}
	}
	r.known[nodeClaim] = refusal{tags: tags, until: now.Add(refusalPause)}
}
