package lkepool

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Whatever one key reads serves all keys that wait, so that the number of reads
// does not grow with the number of keys: a poll asks for the pools of all of
// them, and a full observation, whoever wanted it, is a look for everybody.

// offer is what somebody else's read found out for a queue.
type offer struct {
	// full is a reading of everything; nil for a poll.
	full *reading
	// pools are the polled pools, and turn is the queue's turn for which they
	// were asked: they build on what was known then.
	pools []Pool
	turn  int
	began time.Time
}

// pollAll polls for everybody who waits, and returns what it found by queue.
func (a *Allocator) pollAll(ctx context.Context) (map[*queue]offer, error) {
	began := a.cfg.Clock.Now()
	asked, covers := map[*queue]offer{}, map[*queue]int{}
	var all []Pool
	a.mu.Lock()
	for _, q := range a.queues {
		if len(q.waiters) > 0 && len(q.watch) > 0 {
			asked[q] = offer{turn: q.turn, began: began}
			all = append(all, q.watch...)
			covers[q] = q.turn
		}
	}
	a.lastLook, a.polling = began, covers
	a.mu.Unlock()
	slices.SortFunc(all, func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	pools, err := a.backend.Poll(ctx, all)
	a.mu.Lock()
	a.polling = nil
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	byHash := map[string][]Pool{}
	for _, pool := range pools {
		byHash[pool.keyHash()] = append(byHash[pool.keyHash()], pool)
	}
	for q, o := range asked {
		o.pools = byHash[q.hash]
		asked[q] = o
	}
	a.hand(asked)
	return asked, nil
}

// looked notes that a read for everybody began.
func (a *Allocator) looked(began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastLook = later(a.lastLook, began)
}

// crowdedLocked returns how long after the newest read the next one may begin:
// at once while one key waits, and as with one key when several do.
func (a *Allocator) crowdedLocked() time.Duration {
	keys := 0
	for _, q := range a.queues {
		if len(q.waiters) > 0 {
			keys++
		}
	}
	if keys < crowd {
		return 0
	}
	return a.cfg.RetryDelay
}

// crowd is the number of waiting keys from which reads keep a distance.
const crowd = 3

// handReading offers a full observation to everybody who waits.
func (a *Allocator) handReading(r reading) {
	offers := map[*queue]offer{}
	a.mu.Lock()
	for _, q := range a.queues {
		if len(q.waiters) > 0 {
			offers[q] = offer{full: &r, began: r.began}
		}
	}
	a.mu.Unlock()
	a.hand(offers)
}

// hand gives offers to their queues and brings their next look forward, because
// it costs nothing. A queue that has been told to wait is left alone.
func (a *Allocator) hand(offers map[*queue]offer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.cfg.Clock.Now()
	for q, o := range offers {
		if o.full == nil && (o.turn != q.turn || q.offer.full != nil) || q.trouble != nil || q.next.IsZero() {
			continue
		}
		q.offer = o
		if q.next.After(now) {
			q.next = now
			select {
			case q.wake <- struct{}{}:
			default:
			}
		}
	}
}

// offered takes what was offered to the queue, and says whether it is usable: it
// must have been read after everything that the queue did itself.
func (a *Allocator) offered(q *queue) (offer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := q.offer
	q.offer = offer{}
	usable := !o.began.IsZero() && !o.began.Before(q.ended) && !o.began.Before(q.outdated) && (o.full != nil || o.turn == q.turn)
	return o, usable
}

// polled asks for the queue's pools together with those of everybody else.
func (a *Allocator) polled(ctx context.Context, q *queue) (offer, error) {
	a.mu.Lock()
	turn, covered := a.polling[q]
	ask := a.polls.Do
	if covered && turn == q.turn {
		ask = a.polls.Running
	}
	a.mu.Unlock()
	found, err := ask(ctx)
	if err != nil {
		return offer{}, err
	}
	if o, ok := found[q]; ok && o.turn == q.turn {
		return o, nil
	}
	// Nobody waited any more when the poll began.
	began := a.cfg.Clock.Now()
	pools, err := a.backend.Poll(ctx, q.view.pools)
	return offer{pools: pools, began: began}, err
}
