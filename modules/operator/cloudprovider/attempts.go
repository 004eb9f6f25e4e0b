package cloudprovider

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// attempts remembers which instance type a NodeClaim has asked for, until it has a node or is given up.
// Prices and availability change between two attempts; a NodeClaim that changed its mind would leave the
// capacity it has caused to nobody.
type attempts struct {
	mu    sync.Mutex
	types map[types.UID]attempt
}

type attempt struct {
	instanceType string
	number       int // of calls of Create so far
	last         time.Time
}

// A NodeClaim that was deleted between two attempts is forgotten after this time. Core gives up on a launch
// after minutes, so nothing that is still tried is as old.
const attemptTTL = time.Hour

func newAttempts() *attempts { return &attempts{types: map[types.UID]attempt{}} }

func (a *attempts) get(uid types.UID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.types[uid].instanceType
}

// put notes another attempt and returns its number, from 1.
func (a *attempts) put(uid types.UID, instanceType string) int {
	if uid == "" {
		return 1
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.types[uid]; !known {
		for other, old := range a.types {
			if now.Sub(old.last) > attemptTTL {
				delete(a.types, other)
			}
		}
	}
	number := a.types[uid].number + 1
	a.types[uid] = attempt{instanceType, number, now}
	return number
}

func (a *attempts) drop(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.types, uid)
}
