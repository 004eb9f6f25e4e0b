package core

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

// memory has the knowledge that outlives a reading. seen, attempts and unfenced have no entry for a Machine that the last reading lacks.
type memory struct {
	// seen is by Machine's UID.
	seen map[string]seen
	// attempts has the last claim that was sent for a claimant: while its Machine has that version it may still
	// take effect, and no other Machine is claimed.
	attempts map[claims.Claimant]attempt
	// unfenced has the versions of free Machines that an earlier process may be writing to.
	unfenced map[string]string
	// short has the time since which a deployment has had fewer Machines than replicas.
	short map[string]time.Time
	// refused has the last refusal of a write to an object.
	refused map[string]refusal
	// fencing is true until the first reading, whose free Machines become unfenced.
	fencing bool
}

type seen struct {
	// claim is the last claim that was seen or is in the caller's records; since is when it was first seen.
	claim claims.Claimant
	since time.Time
	// released is when this package's mark for deletion was first seen, zero for never.
	released time.Time
}

type attempt struct{ uid, version string }

type refusal struct {
	err error
	at  time.Time
}

// newMemory returns a memory without knowledge. The free Machines of its first reading have to be fenced: an unanswered
// write of an earlier process may take effect later, however that process ended.
func newMemory() *memory {
	return &memory{seen: map[string]seen{}, attempts: map[claims.Claimant]attempt{}, unfenced: map[string]string{},
		short: map[string]time.Time{}, refused: map[string]refusal{}, fencing: true}
}

// observe applies a reading.
func (m *memory) observe(cfg clusterapi.Config, w *clusterapi.World, now time.Time) {
	machines := map[string]string{}
	for _, machine := range w.Machines {
		machines[machine.UID] = machine.ResourceVersion
		m.see(cfg, machine, now)
		if m.fencing && machine.Free() {
			m.unfenced[machine.UID] = machine.ResourceVersion
		}
	}
	m.fencing = false
	for uid := range m.seen {
		if _, exists := machines[uid]; !exists {
			delete(m.seen, uid)
		}
	}
	for uid, version := range m.unfenced {
		if machines[uid] != version {
			delete(m.unfenced, uid)
		}
	}
	for claimant, a := range m.attempts {
		if machines[a.uid] != a.version {
			delete(m.attempts, claimant)
		}
	}
	for object, r := range m.refused {
		if now.Sub(r.at) >= refusalPause {
			delete(m.refused, object)
		}
	}
}

// see records the claim of a Machine. It keeps a claim that was once seen, because only a user removes a claim.
func (m *memory) see(cfg clusterapi.Config, machine clusterapi.Machine, now time.Time) {
	is, known := m.seen[machine.UID]
	claim := machine.Claim
	if claim == (claims.Claimant{}) && machine.ProviderID != "" {
		claim, _ = cfg.Holder(machine.ProviderID)
	}
	if claim == (claims.Claimant{}) {
		claim = is.claim
	}
	if !known || claim != is.claim {
		is.claim, is.since = claim, now
	}
	if !machine.Released {
		is.released = time.Time{}
	} else if is.released.IsZero() {
		is.released = now
	}
	m.seen[machine.UID] = is
}

// noteShort records the first time at which a deployment lacks Machines, and forgets that time once the deployment has enough Machines.
func (m *memory) noteShort(deployment string, lacks bool, now time.Time) {
	if _, since := m.short[deployment]; lacks && !since {
		m.short[deployment] = now
	} else if !lacks {
		delete(m.short, deployment)
	}
}

// refusalPause is how long a refusal of a write that only a user can cure answers callers, until one write tries again.
const refusalPause = 10 * time.Second
