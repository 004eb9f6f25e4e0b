package core_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// platform simulates the objects of one cluster and the controllers of Cluster API v1.14 that act on them. Each behaviour names its
// source below core/reconcilers of the module sigs.k8s.io/cluster-api.
//
// Not simulated: rolling updates, in-place updates, remediation other than a deleted Machine, MachineSets edited by users.
type platform struct {
	agenda  *schedule.Agenda
	random  *rand.Rand
	version int
	pools   []*deployment
	// violation is the first broken invariant.
	violation string
	// deleted is called when a MachineSet or a user deletes a Machine.
	deleted func(m *machine, by string)
	made    int
	names   int
}

type deployment struct {
	name           string
	version        int
	enabled        bool
	replicas       int
	generation     int
	observed       int
	revision       int
	pauseAnnotated bool
	paused         bool
	changed        time.Duration // the last change that its controller reacts to
	running        bool
	removal        string
	sets           []*set
	// failing is how many of the next machines cannot be made.
	failing int
	// foreign counts Machines that another client took away by lowering a count or marking.
	foreign int
	// lowered is when the reading began from which the count was last lowered.
	lowered time.Duration
}

type set struct {
	name       string
	version    int
	replicas   int
	generation int
	observed   int
	revision   int
	created    time.Duration
	machines   []*machine
	changed    time.Duration
	running    bool
	// counted is its status: its Machines, and the ones of them that are ready.
	counted [2]int
}

type machine struct {
	name, uid string
	version   int
	pool      *deployment
	set       *set
	claim     string
	mark      string
	fence     string
	deleting  bool
	gone      bool
	ready     bool
	failed    bool
	created   time.Duration
	history   []past
	// When a user put a mark for deletion and removed it, an hour for never.
	handMarked, handUnmarked time.Duration
}

// past is a machine as it was from a moment on, for caches that lag.
type past struct {
	at       time.Duration
	marked   bool
	deleting bool
	ready    bool
	gone     bool
}

func (p *platform) bump() int {
	p.version++
	return p.version
}

func (p *platform) touched(m *machine) {
	m.version = p.bump()
	m.history = append(m.history, past{at: p.agenda.Now, marked: m.mark != "", deleting: m.deleting, ready: m.ready, gone: m.gone})
	p.wakeSet(m.pool, m.set)
}

// changedDeployment is called when a deployment or one of its sets changed.
func (p *platform) changedDeployment(d *deployment) {
	d.version = p.bump()
	p.wake(d)
}

func (p *platform) wake(d *deployment) {
	d.changed = p.agenda.Now
	if !d.running {
		d.running = true
		p.deployments(d)
	}
}

func (p *platform) wakeSet(d *deployment, s *set) {
	s.changed = p.agenda.Now
	if !s.running {
		s.running = true
		p.sets(d, s)
	}
}

func (p *platform) between(low, high time.Duration) time.Duration {
	return low + time.Duration(p.random.Int64N(int64(high-low)))
}

func (p *platform) add(name string, enabled bool) *deployment {
	d := &deployment{name: name, enabled: enabled, version: p.bump(), generation: 1}
	p.pools = append(p.pools, d)
	p.wake(d)
	return d
}

// deployments runs the MachineDeployment controller: it acts on what it read a moment before.
func (p *platform) deployments(d *deployment) {
	read := *d
	replicas := map[*set]int{}
	for _, s := range d.sets {
		replicas[s] = s.replicas
	}
	p.agenda.After(p.between(5*time.Millisecond, 200*time.Millisecond), func() {
		p.reconcileDeployment(d, read, replicas)
		if d.running = p.agenda.Now-d.changed < quietAfter; d.running {
			p.agenda.After(p.between(10*time.Millisecond, 500*time.Millisecond), func() { p.deployments(d) })
		}
	})
}

// reconcileDeployment: machinedeployment_rollout_ondelete.go, planOnDelete, and mdutil/util.go, NewMSNewReplicas.
func (p *platform) reconcileDeployment(d *deployment, read deployment, replicas map[*set]int) {
	if read.pauseAnnotated {
		if !d.paused {
			d.paused, d.version = true, p.bump()
		}
		return
	}
	current := p.currentSet(d, read)
	replicas[current] += 0
	counts, total := map[*set]int{}, 0
	for s, n := range replicas {
		counts[s] = n
		total += n
	}
	switch {
	case counts[current] > read.replicas:
		total -= counts[current] - read.replicas
		counts[current] = read.replicas
	case total < read.replicas:
		counts[current] += read.replicas - total
		total = read.replicas
	}
	old := slices.DeleteFunc(slices.Clone(d.sets), func(s *set) bool { _, known := replicas[s]; return s == current || !known })
	slices.SortFunc(old, func(a, b *set) int { return cmp.Compare(a.created, b.created) })
	for _, s := range old {
		down := min(counts[s], max(0, total-read.replicas))
		counts[s] -= down
		total -= down
	}
	for s, n := range counts {
		if s.replicas != n && n != replicas[s] {
			s.replicas, s.generation, s.version = n, s.generation+1, p.bump()
			p.wakeSet(d, s)
		}
	}
	if d.observed != read.generation || d.paused {
		d.observed, d.paused, d.version = read.generation, false, p.bump()
	}
}

// currentSet makes the set of a new revision.
func (p *platform) currentSet(d *deployment, read deployment) *set {
	for _, s := range d.sets {
		if s.revision == read.revision {
			return s
		}
	}
	p.names++
	s := &set{name: fmt.Sprintf("%s-set%d", d.name, p.names), version: p.bump(), generation: 1, revision: read.revision, created: p.agenda.Now}
	d.sets = append(d.sets, s)
	p.wakeSet(d, s)
	return s
}

// cacheLag bounds how far the controller's cache of Machines lags behind that of MachineSets in the simulation.
const cacheLag = 1500 * time.Millisecond

// quietAfter is when a controller has seen all of the last change that it reacts to.
const quietAfter = cacheLag + time.Second

// sets runs the MachineSet controller of one set. It reads the set, and Machines from a cache that lags, but not behind its own writes.
func (p *platform) sets(d *deployment, s *set) {
	replicas, generation := s.replicas, s.generation
	at := p.agenda.Now - p.between(0, cacheLag)
	p.agenda.After(p.between(5*time.Millisecond, 150*time.Millisecond), func() {
		p.reconcileSet(d, s, replicas, at)
		if s.observed != generation {
			s.observed, s.version = generation, p.bump()
			p.wake(d)
		}
		p.count(s)
		if p.random.IntN(3) == 0 {
			d.version = p.bump() // its status
		}
		if s.running = p.agenda.Now-s.changed < quietAfter; s.running {
			p.agenda.After(p.between(10*time.Millisecond, 400*time.Millisecond), func() { p.sets(d, s) })
		}
	})
}

// count writes the status of a set, which changes its version: core/reconcilers/machineset/machineset_controller_status.go, setReplicas.
func (p *platform) count(s *set) {
	var now [2]int
	for _, m := range s.machines {
		if !m.gone {
			now[0]++
		}
		if !m.gone && m.ready {
			now[1]++
		}
	}
	if now != s.counted {
		s.counted, s.version = now, p.bump()
	}
}

// reconcileSet: machineset_controller.go, syncReplicas, and machineset_deletion_order.go, randomDeletionOrder.
func (p *platform) reconcileSet(d *deployment, s *set, replicas int, at time.Duration) {
	type candidate struct {
		*machine
		priority int
	}
	var known []candidate
	for _, m := range s.machines {
		cached := m.cached(at)
		if m.gone && (cached.gone || m.deleting) { // its own deletions are in the cache
			continue
		}
		c := candidate{m, 20}
		switch {
		case m.deleting:
			c.priority = 100
		case cached.marked:
			c.priority = 80
		case !cached.ready:
			c.priority = 50
		}
		known = append(known, c)
	}
	for range replicas - len(known) {
		p.make(d, s)
	}
	surplus := len(known) - replicas
	slices.SortFunc(known, func(a, b candidate) int { return cmp.Or(b.priority-a.priority, cmp.Compare(a.name, b.name)) })
	for i := range surplus {
		if m := known[i].machine; !m.deleting && !m.gone {
			p.delete(m, "set")
		}
	}
}

// cached returns the machine as a cache shows it; one that is younger than the cache is shown as made.
func (m *machine) cached(at time.Duration) past {
	shown := m.history[0]
	for _, h := range m.history {
		if h.at <= at {
			shown = h
		}
	}
	return shown
}

func (p *platform) make(d *deployment, s *set) {
	p.made++
	p.names++
	m := &machine{name: fmt.Sprintf("%s-%05d", s.name, p.random.IntN(100000)), uid: strconv.Itoa(p.names), pool: d,
		set: s, created: p.agenda.Now}
	m.name += "-" + m.uid
	s.machines = append(s.machines, m)
	p.touched(m)
	fails := d.failing > 0
	if fails {
		d.failing--
	}
	p.agenda.After(p.between(100*time.Millisecond, 20*time.Second), func() {
		if m.deleting {
			return
		}
		m.ready, m.failed = !fails, fails
		p.touched(m)
	})
}

func (p *platform) delete(m *machine, by string) {
	m.deleting = true
	p.touched(m)
	p.deleted(m, by)
	p.agenda.After(p.between(100*time.Millisecond, 15*time.Second), func() {
		m.gone = true
		p.touched(m)
	})
}

// machines returns the Machines that exist.
func (p *platform) machines() []*machine {
	var all []*machine
	for _, d := range p.pools {
		for _, s := range d.sets {
			s.machines = slices.DeleteFunc(s.machines, func(m *machine) bool {
				return m.gone && p.agenda.Now-m.history[len(m.history)-1].at > 2*cacheLag
			})
			for _, m := range s.machines {
				if !m.gone {
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// deploymentsAsRead is the first half of a reading, machinesAsRead the second.
func (p *platform) deploymentsAsRead() []clusterapi.Deployment {
	var all []clusterapi.Deployment
	for _, d := range p.pools {
		if !d.enabled {
			continue
		}
		read := clusterapi.Deployment{Name: d.name, UID: d.name, ResourceVersion: strconv.Itoa(d.version), Replicas: d.replicas,
			Observed: d.observed == d.generation, Paused: d.paused && d.pauseAnnotated, Removal: clusterapi.ParseRemoval(d.removal)}
		for _, s := range d.sets {
			read.Sets = append(read.Sets, clusterapi.Set{Name: s.name, ResourceVersion: strconv.Itoa(s.version),
				Created: time.Unix(0, int64(s.created)), Replicas: s.replicas, Observed: s.observed == s.generation,
				Current: s.revision == d.revision})
		}
		all = append(all, read)
	}
	return all
}

func (p *platform) machinesAsRead() []clusterapi.Machine {
	var all []clusterapi.Machine
	for _, m := range p.machines() {
		read := clusterapi.Machine{Name: m.name, UID: m.uid, ResourceVersion: strconv.Itoa(m.version), Deployment: m.pool.name, Set: m.set.name,
			Claim: clusterapi.ParseClaim(m.claim), Released: m.mark == clusterapi.ReleasedValue,
			Marked: m.mark != "" && m.mark != clusterapi.ReleasedValue, Deleting: m.deleting, Created: time.Unix(0, int64(m.created))}
		if m.ready {
			read.ProviderID = "linode://" + m.uid
		}
		if m.failed {
			read.Failure = claims.Errorf(claims.KindInsufficientCapacity, "make", m.name, "no capacity")
		}
		all = append(all, read)
	}
	return all
}

// land carries out a write whose preconditions hold, as the API server does.
func (p *platform) land(w clusterapi.Write) error {
	conflict := claims.Errorf(claims.KindConflict, string(w.Op), w.Object, "the object has been modified")
	missing := claims.Errorf(claims.KindNotFound, string(w.Op), w.Object, "not found")
	switch w.Op {
	case clusterapi.OpClaim, clusterapi.OpFence, clusterapi.OpRelease:
		for _, m := range p.machines() {
			if m.name != w.Object {
				continue
			}
			if strconv.Itoa(m.version) != w.ResourceVersion || m.uid != w.UID {
				return conflict
			}
			p.landOnMachine(m, w)
			return nil
		}
	case clusterapi.OpShrink:
		for _, d := range p.pools {
			for _, s := range d.sets {
				if s.name != w.Object {
					continue
				}
				if strconv.Itoa(s.version) != w.ResourceVersion {
					return conflict
				}
				s.replicas, s.generation, s.version = w.Replicas, s.generation+1, p.bump()
				p.wakeSet(d, s)
				p.wake(d)
				return nil
			}
		}
	default:
		for _, d := range p.pools {
			if d.name != w.Object {
				continue
			}
			if strconv.Itoa(d.version) != w.ResourceVersion {
				return conflict
			}
			p.landOnDeployment(d, w)
			return nil
		}
	}
	return missing
}

func (p *platform) landOnMachine(m *machine, w clusterapi.Write) {
	if !m.pool.enabled {
		p.violation = cmp.Or(p.violation, "I4: a write to a Machine of a deployment without the label: "+string(w.Op))
	}
	switch w.Op {
	case clusterapi.OpClaim:
		m.claim = w.Value
	case clusterapi.OpFence:
		m.fence = w.Value
	case clusterapi.OpRelease:
		m.mark = w.Value
	}
	p.touched(m)
}

func (p *platform) landOnDeployment(d *deployment, w clusterapi.Write) {
	if !d.enabled {
		p.violation = cmp.Or(p.violation, "I4: a write to a deployment without the label: "+string(w.Op))
	}
	switch w.Op {
	case clusterapi.OpScale:
		d.replicas = w.Replicas
	case clusterapi.OpPause:
		d.replicas, d.pauseAnnotated, d.removal = w.Replicas, true, w.Value
	case clusterapi.OpResume:
		d.pauseAnnotated, d.removal = false, ""
	}
	d.generation++
	p.changedDeployment(d)
}
