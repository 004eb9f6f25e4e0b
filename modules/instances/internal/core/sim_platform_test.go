package core

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
	// history has every past state of the instance.
	history []simVersion
	// lied: a wrong 404 was answered for it. kept: a removal of it had no effect.
	// Both together would prove a falsehood. renamed and stripped: by a person.
	lied, kept, renamed, stripped, off bool
	// leftOut is the process, counted from 1, that a wrong list did not show it to.
	leftOut int
	// unanswered: the process got no answer to its creation.
	unanswered bool
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

// find returns an instance that exists, nil if it does not exist.
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
func (p *simPlatform) apply(e Effect) (Instance, error) {
	if e.Op == OpCreate {
		return p.create(*e.Order)
	}
	i := p.find(e.ID)
	if i == nil {
		return Instance{}, simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
	}
	switch e.Op {
	case OpDelete:
		i.gone = true
	case OpTag:
		i.Tags = slices.Clone(e.Tags)
	case OpAddDisk:
		return p.addDisk(i, e.Disk)
	case OpAttach:
		i.config.Devices = e.Devices
	case OpBoot:
		if i.Status == "offline" {
			p.becomes(i, "booting", p.boot, "running")
		} else if i.Status != "booting" && i.Status != "running" {
			return Instance{}, simRefusal(claims.KindUnavailable, claims.EffectNone, "busy")
		}
	}
	p.record(i)
	return i.Instance, nil
}

func (p *simPlatform) create(c Order) (Instance, error) {
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
		Name: c.Label, InstanceType: c.InstanceType, Status: "provisioning", Tags: slices.Clone(c.Tags), Created: p.now,
	}}, false)
	i.disks = []DiskState{{ID: 1, Label: "boot"}, {ID: 2, Label: "swap"}}
	i.config = ConfigState{ID: 1, Devices: map[string]int{"sda": 1, "sdb": 2}}
	p.record(i)
	next := "running"
	if len(c.Data) > 0 {
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

func (p *simPlatform) addDisk(i *simInstance, label string) (Instance, error) {
	if i.Status != "offline" || slices.ContainsFunc(i.disks, func(d DiskState) bool { return !d.Ready }) {
		return Instance{}, simRefusal(claims.KindUnavailable, claims.EffectNone, "busy")
	}
	i.disks = append(i.disks, DiskState{ID: len(i.disks) + 1, Label: label})
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
func (p *simPlatform) read(e Effect, at time.Time) (r Result) {
	r.Effect = e
	if e.Op == OpList || e.Op == OpFind {
		for _, i := range p.instances {
			v := i.at(at)
			if v.exists && (e.Op == OpList && slices.Contains(v.value.Tags, e.Text) || e.Op == OpFind &&
				(v.value.Name == e.Text || slices.Contains(v.value.Tags, simOwn.NameTag(e.Who)))) {
				r.Instances = append(r.Instances, copyOf(v.value))
			}
		}
		return r
	}
	var v simVersion
	if i := p.known(e.ID); i != nil {
		v = i.at(at)
	}
	if !v.exists {
		r.Err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
		return r
	}
	r.Instance, r.Disks, r.Configs = copyOf(v.value), slices.Clone(v.disks), []ConfigState{v.config}
	if e.Op == OpDisk {
		r.Disks = slices.DeleteFunc(r.Disks, func(d DiskState) bool { return d.ID != e.DiskID })
		if len(r.Disks) == 0 {
			r.Err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found")
		}
	}
	return r
}

func copyOf(i Instance) Instance {
	i.Tags = slices.Clone(i.Tags)
	return i
}
