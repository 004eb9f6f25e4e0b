package instances

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// simPlatform is the API as the engine depends on it, in memory and in virtual
// time. It keeps its history, so that a reading can be answered out of date.
// Everything in it is ordered: one seed, one course of events.
type simPlatform struct {
	*simAgenda
	instances []*simInstance
	// room bounds the instances of the account, 0 for any number.
	room int
	// boot is the time from provisioning until an instance runs or is off.
	boot time.Duration
	// changed is called after every change, with the instance.
	changed func(*simInstance)
}

type simInstance struct {
	Instance
	disks   []DiskState
	config  ConfigState
	gone    bool
	foreign bool
	born    time.Time
	// history is the instance as it was at any moment.
	history []simVersion
	// lied: a wrong 404 was answered for it. kept: a removal of it had no effect.
	// Both together would prove what is not so. renamed and stripped: by a person.
	lied, kept, renamed, stripped, off bool
	// given is since when it was another claimant's, by its tags.
	given time.Time
}

type simVersion struct {
	at     time.Time
	exists bool
	value  Instance
	disks  []DiskState
	config ConfigState
}

const simLongAgo = -time.Hour

func (p *simPlatform) record(i *simInstance) {
	v := simVersion{at: p.now, exists: !i.gone, value: i.Instance, disks: slices.Clone(i.disks), config: i.config}
	v.value.Tags = slices.Clone(i.Tags)
	if last := len(i.history) - 1; last >= 0 && i.history[last].at.Equal(p.now) {
		i.history[last] = v
	} else {
		i.history = append(i.history, v)
	}
	if p.changed != nil {
		p.changed(i)
	}
}

func (i *simInstance) at(t time.Time) simVersion {
	for _, v := range slices.Backward(i.history) {
		if !v.at.After(t) {
			return v
		}
	}
	return simVersion{}
}

// goneAt reports whether it had ceased to exist by then.
func (i *simInstance) goneAt(t time.Time) bool {
	last := i.history[len(i.history)-1]
	return !last.exists && !last.at.After(t)
}

// find returns an instance that exists, nil if there is none.
func (p *simPlatform) find(id int) *simInstance {
	for _, i := range p.instances {
		if i.InstanceID == id && !i.gone {
			return i
		}
	}
	return nil
}

func (p *simPlatform) known(id int) *simInstance {
	at := slices.IndexFunc(p.instances, func(i *simInstance) bool { return i.InstanceID == id })
	if at < 0 {
		return nil
	}
	return p.instances[at]
}

func (p *simPlatform) existing() []*simInstance {
	return slices.DeleteFunc(slices.Clone(p.instances), func(i *simInstance) bool { return i.gone })
}

func (p *simPlatform) add(i Instance, foreign bool) *simInstance {
	made := &simInstance{Instance: i, foreign: foreign, born: p.now}
	made.InstanceID = 100 + len(p.instances)
	p.instances = append(p.instances, made)
	p.record(made)
	return made
}

func simRefusal(kind claims.Kind, effect claims.Effect, format string, args ...any) *claims.Error {
	return &claims.Error{Kind: kind, Op: "simulated", Effect: effect, Err: fmt.Errorf(format, args...)}
}

// apply carries a write out.
func (p *simPlatform) apply(e effect) (Instance, error) {
	if e.op == opCreate {
		return p.create(e.creation)
	}
	i := p.find(e.id)
	if i == nil {
		return Instance{}, simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
	}
	switch e.op {
	case opDelete:
		i.gone = true
	case opTag:
		i.Tags = slices.Clone(e.tags)
	case opAddDisk:
		return p.addDisk(i, e.disk)
	case opAttach:
		i.config.Devices = e.devices
	case opBoot:
		if i.Status == "offline" {
			p.becomes(i, "booting", p.boot, "running")
		} else if i.Status != "booting" && i.Status != "running" {
			return Instance{}, simRefusal(claims.KindUnavailable, claims.EffectNone, "busy")
		}
	}
	p.record(i)
	return i.Instance, nil
}

func (p *simPlatform) create(c Creation) (Instance, error) {
	all := p.existing()
	for _, other := range all {
		if other.Name == c.Label {
			return Instance{}, &claims.Error{Kind: claims.KindConflict, Op: "simulated", Field: "label", Effect: claims.EffectNone,
				Err: ErrLabelTaken}
		}
	}
	if p.room > 0 && len(all) >= p.room {
		return Instance{}, simRefusal(claims.KindQuotaExceeded, claims.EffectNone, "account limit")
	}
	i := p.add(Instance{Node: claims.Node{
		Name: c.Label, InstanceType: c.InstanceType, Region: c.Region, Status: "provisioning", Tags: slices.Clone(c.Tags), Created: p.now,
	}}, false)
	i.disks = []DiskState{{ID: 1, Label: "boot"}, {ID: 2, Label: "swap"}}
	i.config = ConfigState{ID: 1, Devices: map[string]int{"sda": 1, "sdb": 2}}
	p.record(i)
	next := "running"
	if c.Off {
		next = "offline"
	}
	p.becomes(i, "provisioning", p.boot, next)
	p.after(p.boot/2, func() { p.ready(i) })
	return i.Instance, nil
}

func (p *simPlatform) ready(i *simInstance) {
	for n := range i.disks {
		i.disks[n].Ready = true
	}
	p.record(i)
}

func (p *simPlatform) addDisk(i *simInstance, disk Disk) (Instance, error) {
	if i.Status != "offline" || slices.ContainsFunc(i.disks, func(d DiskState) bool { return !d.Ready }) {
		return Instance{}, simRefusal(claims.KindUnavailable, claims.EffectNone, "busy")
	}
	i.disks = append(i.disks, DiskState{ID: len(i.disks) + 1, Label: disk.Label})
	p.record(i)
	p.after(5*time.Second, func() { p.ready(i) })
	return i.Instance, nil
}

func (p *simPlatform) becomes(i *simInstance, now string, after time.Duration, then string) {
	i.Status = now
	p.after(after, func() {
		if i.Status == now && !i.gone {
			i.Status = then
			p.record(i)
		}
	})
}

// read answers a read as things were at a time.
func (p *simPlatform) read(e effect, at time.Time) (r result) {
	r.effect = e
	if e.op == opList || e.op == opFind {
		for _, i := range p.instances {
			v := i.at(at)
			if v.exists && (e.op == opList && slices.Contains(v.value.Tags, e.text) || e.op == opFind &&
				(v.value.Name == e.text || slices.Contains(v.value.Tags, simOwn.NameTag(e.claim.id)))) {
				r.instances = append(r.instances, copyOf(v.value))
			}
		}
		return r
	}
	var v simVersion
	if i := p.known(e.id); i != nil {
		v = i.at(at)
	}
	if !v.exists {
		r.err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
		return r
	}
	r.instance, r.disks, r.configs = copyOf(v.value), slices.Clone(v.disks), []ConfigState{v.config}
	if e.op == opDisk {
		r.disks = slices.DeleteFunc(r.disks, func(d DiskState) bool { return d.ID != e.diskID })
		if len(r.disks) == 0 {
			r.err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
		}
	}
	return r
}

func copyOf(i Instance) Instance {
	i.Tags = slices.Clone(i.Tags)
	return i
}
