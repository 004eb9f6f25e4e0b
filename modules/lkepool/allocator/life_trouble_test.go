package allocator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// personToken is the API token of a person who uses the API at the same time as the engine.
const personToken = "zz-person"

// kills ends the leading process now and then; another one starts, or one that
// has stood by takes over.
func (s *life) kills(random *rand.Rand) {
	standby := s.construct(random)
	for range random.IntN(6) {
		time.Sleep(time.Duration(random.Int64N(int64(chaos / 4))))
		if random.IntN(2) == 0 { // the next process does not see the last writes in lists
			lag := 3 * time.Second
			if s.lagging {
				lag = 2 * time.Minute
			}
			s.staleLists(lag)
			time.Sleep(time.Duration(random.Int64N(int64(lag))))
		}
		s.die(s.current())
		time.Sleep(time.Duration(random.Int64N(int64(5 * time.Second))))
		next := s.construct(random)
		if random.IntN(2) == 0 {
			next, standby = standby, next
		}
		after := s.predecessor()
		next.Begin(after)
		s.lead(next)
		s.note("another process leads, before: %v", after)
	}
	standby.kill()
}

// die kills a process.
func (s *life) die(p *process) {
	s.mu.Lock()
	s.died[p.ctx] = time.Now()
	s.mu.Unlock()
	p.kill()
	s.note("killed")
}

// trouble injects refusals and changes from outside at random times.
func (s *life) trouble(random *rand.Rand) {
	for !s.calm && time.Now().Before(s.end) {
		time.Sleep(time.Duration(random.Int64N(int64(3 * time.Minute))))
		switch random.IntN(10) {
		case 0:
			kind := s.keys[random.IntN(len(s.keys))].InstanceType
			s.sim.RefuseCapacity(linodesim.NoCapacity{Type: kind})
			s.refusing(claims.KindInsufficientCapacity, kind, time.Duration(random.Int64N(int64(2*time.Minute))))
			s.sim.RestoreCapacity()
		case 1:
			s.sim.SetAccountLimit(10)
			s.refusing(claims.KindQuotaExceeded, "", time.Duration(random.Int64N(int64(time.Minute))))
			s.sim.SetAccountLimit(0)
		case 2:
			if all := s.instances(); len(all) > 0 {
				id := all[random.IntN(len(all))].ID
				s.note("deleted by hand: %d %v", id, s.sim.DeleteInstance(id))
			}
		case 3:
			s.retag(random)
		case 4:
			if !s.grouped { // no list shows a Linode that was renamed: 404s alone would prove that it is gone
				s.renameAny(random)
			}
		case 5:
			s.strip(random)
		case 6:
			s.intrude(random)
		default:
			if pools := s.ours(); len(pools) > 0 {
				s.meddle(pools[random.IntN(len(pools))], random)
			}
		}
	}
}

// refusal is a time in which the platform refused more nodes.
type refusal struct {
	kind         claims.Kind
	instanceType string
	from, to     time.Time
}

// refusing waits while the platform refuses more nodes.
func (s *life) refusing(kind claims.Kind, instanceType string, d time.Duration) {
	s.note("%s of %q", kind, instanceType)
	s.mu.Lock()
	s.events.refusals = append(s.events.refusals, refusal{kind: kind, instanceType: instanceType, from: time.Now(), to: time.Now().Add(d)})
	s.mu.Unlock()
	time.Sleep(d)
}

// refused reports whether the platform refused such nodes at any time since.
func (s *life) refused(kind claims.Kind, instanceType string, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.events.refusals, func(r refusal) bool {
		return r.kind == kind && (r.instanceType == "" || r.instanceType == instanceType) && !r.to.Before(since)
	})
}

// mostTaken is how often a life takes nodes out of pools by hand. More often is
// a conflict, and claimants are refused (TestCountEditedByHand).
const mostTaken = 2

// meddle changes a pool as the platform, or a person, does: it recycles or deletes a node, or edits the count.
func (s *life) meddle(pool linodesim.Pool, random *rand.Rand) {
	count := pool.Count + 1 + random.IntN(3)
	switch {
	case len(pool.Nodes) > 0 && random.IntN(3) == 0:
		node := pool.Nodes[random.IntN(len(pool.Nodes))]
		s.note("recycle %s %v", node.ID, s.sim.RecycleNode(s.cluster.ID, node.ID))
		return
	case len(pool.Nodes) > 0 && s.events.taken < mostTaken && random.IntN(2) == 0:
		s.events.taken++
		if random.IntN(2) == 0 {
			node := pool.Nodes[random.IntN(len(pool.Nodes))]
			s.note("deleted by hand: %s %v", node.ID, s.sim.DeleteNode(s.cluster.ID, node.ID))
			return
		}
		count = max(1, pool.Count-1-random.IntN(3))
	}
	s.mu.Lock()
	s.events.counted[pool.ID] = time.Now()
	s.mu.Unlock()
	s.note("pool %d scaled by hand to %d: %v", pool.ID, count, s.sim.EditPool(s.cluster.ID, pool.ID, linodesim.PoolEdit{Count: &count}))
}

// retag changes user tags of some claimed instances.
func (s *life) retag(random *rand.Rand) {
	for _, c := range s.holders() {
		if random.IntN(2) == 0 {
			continue
		}
		p := s.current()
		ctx, cancel := bound(p, time.Minute)
		err := p.SetTags(ctx, c.instance, c.who, []string{"team=a"}, []string{"team=b"})
		cancel()
		if claims.KindOf(err) == claims.KindInvalid {
			s.errorf("set tags: %v", err)
		}
	}
}

// holders are the claimants that have a node now.
func (s *life) holders() []claimant {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []claimant
	for _, c := range s.claims {
		if c.instance != 0 {
			all = append(all, *c)
		}
	}
	slices.SortFunc(all, func(a, b claimant) int { return strings.Compare(a.who.Name, b.who.Name) })
	return all
}

// renameAny gives a Linode another label.
func (s *life) renameAny(random *rand.Rand) {
	if all := s.instances(); len(all) > 0 {
		id := all[random.IntN(len(all))].ID
		s.note("rename of %d: %d", id, s.rename(id))
	}
}

// rename gives a Linode another label, as a person may. It returns the status
// of the answer, 0 for none.
func (l *lab) rename(id int) int {
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	body := strings.NewReader(fmt.Sprintf(`{"label":"renamed-%d"}`, id))
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("https://api.linode.com/v4/linode/instances/%d", id), body)
	if err != nil {
		l.errorf("rename: %v", err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+personToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.sim.Transport().RoundTrip(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close() // nothing is read from it
	return answer.StatusCode
}

// strip takes the claim off an instance by hand. Without the claimants' own
// records only a process that has seen the claim restores it, so no life does
// so without them.
func (s *life) strip(random *rand.Rand) {
	holders := s.holders()
	if !s.witness || len(holders) == 0 {
		return
	}
	c := holders[random.IntN(len(holders))]
	for _, instance := range s.instances() {
		if instance.ID != c.instance {
			continue
		}
		tags := slices.DeleteFunc(slices.Clone(instance.Tags), func(tag string) bool { return strings.HasPrefix(tag, claimTag) })
		s.mu.Lock()
		s.events.stripped[c.instance] = true
		s.mu.Unlock()
		s.note("claim of %s taken off %d: %v", c.who.Name, c.instance, s.sim.EditInstanceTags(c.instance, tags))
	}
}

// intrude releases and tags the instance of another claimant.
func (s *life) intrude(random *rand.Rand) {
	holders := s.holders()
	if len(holders) == 0 {
		return
	}
	victim, p := holders[random.IntN(len(holders))], s.current()
	intruder := claims.Claimant{Name: victim.who.Name, UID: "another"}
	ctx, cancel := bound(p, time.Minute)
	defer cancel()
	release, tags := p.Release(ctx, victim.instance, intruder), p.SetTags(ctx, victim.instance, intruder, nil, []string{"by=intruder"})
	s.note("intruder at %d: %v; %v", victim.instance, release, tags)
	stripped := s.lossy
	s.mu.Lock()
	stripped = stripped || s.events.stripped[victim.instance]
	s.mu.Unlock()
	if !stripped && s.exists(victim.instance) && (release == nil || tags == nil) {
		s.errorf("at %s, the intruder was obeyed about %d: %v; %v", moment(time.Now()), victim.instance, release, tags)
	}
}
