package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// decider decides from one reading.
type decider struct {
	cfg    clusterapi.Config
	memory *memory
	calls  []*call
	busy   map[string]bool
	now    time.Time
	// pools are the deployments of the reading, machines its Machines in the order of preference.
	pools     map[string]*pool
	machines  []*clusterapi.Machine
	writes    []clusterapi.Write
	answers   []answer
	claimants map[string]claims.Claimant // by UID of the Machine that this decision claims
}

type answer struct {
	call *call
	Answer
}

// pool is a deployment with the Machines of the reading.
type pool struct {
	clusterapi.Deployment
	machines []*clusterapi.Machine
	current  string // the set that makes new Machines
	// active counts Machines that stay, and marked counts the Machines that this package marked and that are not being deleted yet.
	active, marked int
	// incoming counts Machines that replicas promises and that do not exist; wanted is how many of them claimants wait for.
	incoming, wanted int
	// missing counts Machines to buy.
	missing int
	stuck   bool
}

func newDecider(c *Core, w clusterapi.World, now time.Time) *decider {
	d := &decider{cfg: c.cfg, memory: c.memory, busy: c.busy, now: now, pools: map[string]*pool{},
		claimants: map[string]claims.Claimant{}}
	for _, call := range c.calls {
		if call.after < c.begun {
			d.calls = append(d.calls, call)
			call.why = nil
			if call.ask.Kind == KindWorld {
				d.answer(call, Answer{World: w})
			}
		}
	}
	for _, deployment := range w.Deployments {
		d.pools[deployment.Name] = newPool(deployment)
	}
	for i := range w.Machines {
		m := &w.Machines[i]
		d.machines = append(d.machines, m)
		if p := d.pools[m.Deployment]; p != nil {
			p.add(m)
		}
	}
	slices.SortFunc(d.machines, preferred)
	for _, p := range d.pools {
		p.incoming = max(0, p.Replicas-p.active-p.marked)
		lacks := p.Replicas > len(p.machines)
		d.memory.noteShort(p.Name, lacks, now)
		p.stuck = lacks && now.Sub(d.memory.short[p.Name]) >= d.cfg.StuckTimeout
	}
	return d
}

func newPool(deployment clusterapi.Deployment) *pool {
	p := &pool{Deployment: deployment}
	for _, s := range deployment.Sets {
		if s.Current {
			p.current = s.Name
		}
	}
	return p
}

func (p *pool) add(m *clusterapi.Machine) {
	p.machines = append(p.machines, m)
	switch {
	case m.Deleting:
	case m.Released:
		p.marked++
	default:
		p.active++
	}
}

// preferred orders Machines: Machines with a provider ID first, then the oldest.
func preferred(a, b *clusterapi.Machine) int {
	if (a.ProviderID == "") != (b.ProviderID == "") {
		if a.ProviderID == "" {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// usable reports whether the engine may change the Machines and the count of a pool.
func (p *pool) usable() bool { return p != nil && p.Refusal == "" }

// owner returns the claimant of a Machine: from its annotation, from the caller's records, or from an earlier reading.
func (d *decider) owner(m *clusterapi.Machine) claims.Claimant { return d.memory.seen[m.UID].claim }

// decide returns writes and answers in d. Claims come before removals: while claimants wait for a count
// that was raised, it is not lowered.
func (d *decider) decide() {
	d.restore()
	if d.fence() {
		d.serve()
		d.buy()
	}
	d.release()
	d.remove()
}

func (d *decider) answer(call *call, a Answer) { d.answers = append(d.answers, answer{call, a}) }

// write adds a write, unless a write to the same object is under way or was refused lately. It returns the refusal.
func (d *decider) write(w clusterapi.Write) error {
	object := objectOf(w)
	if r, refused := d.memory.refused[object]; refused && lasting(r.err) {
		return r.err
	} else if refused && d.now.Sub(r.at) < d.cfg.ReadInterval {
		return r.err
	}
	if d.busy[object] || slices.ContainsFunc(d.writes, func(other clusterapi.Write) bool { return objectOf(other) == object }) {
		return nil
	}
	d.writes = append(d.writes, w)
	return nil
}

// restore writes claims again that a user removed.
func (d *decider) restore() {
	for _, m := range d.machines {
		owner := d.owner(m)
		if owner != (claims.Claimant{}) && m.Claim == (claims.Claimant{}) && !m.Deleting && d.pools[m.Deployment].usable() {
			_ = d.claim(m, owner, "the annotation was removed") // tried again at the next reading
		}
	}
}

// claim writes a claimant's name and UID on a Machine.
func (d *decider) claim(m *clusterapi.Machine, by claims.Claimant, reason string) error {
	d.claimants[m.UID] = by
	return d.write(clusterapi.Write{Op: clusterapi.OpClaim, Object: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Value: clusterapi.ClaimValue(by), Reason: reason})
}

// fence changes the version of each free Machine that an earlier process may be claiming, and reports whether all have
// changed. Until then such a claim could take effect in addition to the claim that is written now. Example: a claim of a
// Machine with version 5 has no answer when its process dies. The fence gives the Machine version 6, so the API server
// refuses the old claim with 409.
func (d *decider) fence() bool {
	fenced := true
	for _, m := range d.machines {
		if d.memory.unfenced[m.UID] == "" || !d.pools[m.Deployment].usable() {
			continue
		}
		fenced = false
		err := d.write(clusterapi.Write{Op: clusterapi.OpFence, Object: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
			Value: d.now.UTC().Format(time.RFC3339Nano), Reason: "a process before this one may still write"})
		for _, call := range d.calls {
			if call.ask.Kind == KindClaim && err != nil {
				d.refuse(call, err)
			} else if call.ask.Kind == KindClaim {
				call.waits(m.Name, "its version is changed first, so that no write of an earlier process can take effect")
			}
		}
	}
	return fenced
}

// refuse answers a call if only a user can cure the refusal. Otherwise the refusal is the reason for which the call
// waits.
func (d *decider) refuse(call *call, err error) {
	call.why = call.named(err)
	if lasting(err) {
		d.answer(call, Answer{Err: call.why})
	}
}
