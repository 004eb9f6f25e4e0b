package cloudprovider

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
)

// attempts holds which instance type a NodeClaim has asked for, until it has a node or is given up. Prices and availability change
// between two attempts; a NodeClaim that asked for another type would leave the capacity that it caused unused. Core calls Create for
// one NodeClaim by one goroutine at a time.
type attempts struct{ byUID *cache.Expiring }

type attempt struct {
	instanceType string
	number       int // of calls of Create so far
}

// A NodeClaim that was deleted between two attempts is forgotten after this time; core gives a launch up after 5 minutes.
const attemptTTL = time.Hour

func newAttempts() attempts { return attempts{cache.NewExpiring()} }

func (a attempts) get(uid types.UID) attempt {
	known, _ := a.byUID.Get(uid)
	last, _ := known.(attempt)
	return last
}

// put notes another attempt and returns its number, from 1.
func (a attempts) put(uid types.UID, instanceType string) int {
	if uid == "" {
		return 1
	}
	number := a.get(uid).number + 1
	a.byUID.Set(uid, attempt{instanceType, number}, attemptTTL)
	return number
}

func (a attempts) drop(uid types.UID) { a.byUID.Delete(uid) }
