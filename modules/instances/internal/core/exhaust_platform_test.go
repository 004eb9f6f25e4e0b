package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
)

// smallPlatform is the API as far as a search of small worlds needs it: labels are unique, an instance with data disks is made without a
// boot, and a disk is added while the instance is off. All its fields are values, so that it can be cloned.
type smallPlatform struct {
	instances []smallInstance
	shown     fate.Views[smallState]
	lastID    int
}

type smallInstance struct {
	Instance
	disks  []DiskState
	config ConfigState
	who    claims.ClaimID
	gone   bool
	// becomes follows its status at turns, ready is when all its disks are.
	becomes      string
	turns, ready time.Time
	ran          bool
}

// smallState is all that readings show. It never changes, so that clones share it.
type smallState struct {
	instances []smallInstance
	// texts stand for what reads of each instance show: equal texts, equal answers.
	texts []string
}

func (*smallState) SharedByClones() {}

const (
	smallBoot = 2 * time.Second
	smallDisk = 5 * time.Second
)

// record keeps what readings show from now on.
func (p *smallPlatform) record(now time.Time) {
	s := &smallState{}
	for _, i := range p.instances {
		if !i.gone {
			i.Tags, i.disks = slices.Clone(i.Tags), slices.Clone(i.disks)
			s.instances = append(s.instances, i)
			s.texts = append(s.texts, fmt.Sprint(i.Instance, i.disks, i.config))
		}
	}
	p.shown.Record(now, strings.Join(s.texts, "\n"), s)
}

// shows reports whether a read shows an instance.
func shows(e *Effect, i *smallInstance) bool {
	switch e.Op {
	case OpList:
		return slices.Contains(i.Tags, e.Text)
	case OpFind:
		return i.Name == e.Text || slices.Contains(i.Tags, simOwn.NameTag(e.Who))
	}
	return i.InstanceID == e.ID
}

// text stands for what a read shows.
func (s *smallState) text(e *Effect) string {
	var all []string
	for n := range s.instances {
		if shows(e, &s.instances[n]) {
			all = append(all, s.texts[n])
		}
	}
	return strings.Join(all, "\n")
}

// read answers a read with a state.
func (s *smallState) read(e Effect) (r Result) {
	r.Effect = e
	for n := range s.instances {
		i := &s.instances[n]
		if !shows(&e, i) {
			continue
		}
		if e.Op == OpList || e.Op == OpFind {
			r.Instances = append(r.Instances, copyOf(i.Instance))
			continue
		}
		r.Instance, r.Disks, r.Configs = copyOf(i.Instance), slices.Clone(i.disks), []ConfigState{i.config}
		if e.Op == OpDisk {
			r.Disks = slices.DeleteFunc(r.Disks, func(d DiskState) bool { return d.ID != e.DiskID })
		}
	}
	if e.ID != 0 && (r.Instance.InstanceID == 0 || len(r.Disks) == 0) {
		return Result{Effect: e, Err: smallError(e.Op, claims.KindNotFound, claims.EffectNone)}
	}
	return r
}

func smallError(o Op, kind claims.Kind, effect claims.Effect) *claims.Error {
	return &claims.Error{Kind: kind, Op: string(o), Effect: effect, Err: errSmall(kind)}
}

// errSmall is the cause of an error: it has no text that differs between runs.
type errSmall string

func (e errSmall) Error() string { return string(e) }

func (p *smallPlatform) find(id int) *smallInstance {
	at := slices.IndexFunc(p.instances, func(i smallInstance) bool { return i.InstanceID == id && !i.gone })
	if at < 0 {
		return nil
	}
	return &p.instances[at]
}

// write carries a write out, and answers it.
func (p *smallPlatform) write(e Effect, now time.Time) (r Result) {
	r.Effect = e
	i := p.find(e.ID)
	if e.Op == OpCreate {
		if slices.ContainsFunc(p.instances, func(i smallInstance) bool { return !i.gone && i.Name == e.Order.Label }) {
			r.Err = &claims.Error{Kind: claims.KindConflict, Op: string(e.Op), Field: "label", Effect: claims.EffectNone, Err: ErrLabelTaken}
			return r
		}
		i = p.create(e.Order, now)
	}
	busy := smallError(e.Op, claims.KindUnavailable, claims.EffectNone)
	switch {
	case i == nil:
		r.Err = smallError(e.Op, claims.KindNotFound, claims.EffectNone)
		return r
	case e.Op == OpDelete:
		i.gone = true
	case e.Op == OpTag:
		i.Tags = slices.Clone(e.Tags)
	case e.Op == OpAddDisk:
		if i.Status != "offline" || slices.ContainsFunc(i.disks, func(d DiskState) bool { return !d.Ready }) {
			r.Err = busy
			return r
		}
		made := DiskState{ID: len(i.disks) + 1, Label: e.Disk}
		i.disks, i.ready = append(i.disks, made), now.Add(smallDisk)
		r.Disks = []DiskState{made}
	case e.Op == OpAttach:
		i.config.Devices = e.Devices
	case e.Op == OpBoot:
		switch i.Status {
		case "offline":
			i.Status, i.becomes, i.turns, i.ran = "booting", "running", now.Add(smallBoot), true
		case "provisioning":
			r.Err = busy
			return r
		}
	}
	r.Instance = copyOf(i.Instance)
	p.record(now)
	return r
}

func (p *smallPlatform) create(o *Order, now time.Time) *smallInstance {
	p.lastID++
	i := smallInstance{
		Instance: Instance{Node: claims.Node{
			InstanceID: 100 + p.lastID, Name: o.Label, InstanceType: o.InstanceType, Status: "provisioning", Tags: slices.Clone(o.Tags),
			Created: now,
		}},
		who: o.Who, becomes: "running", turns: now.Add(smallBoot), ran: len(o.Data) == 0,
		disks: []DiskState{{ID: 1, Label: "boot", Ready: true}}, config: ConfigState{ID: 1, Devices: map[string]int{"sda": 1}},
	}
	if len(o.Data) > 0 {
		i.becomes = "offline"
	}
	p.instances = append(p.instances, i)
	return &p.instances[len(p.instances)-1]
}

// elapse lets due events happen.
func (p *smallPlatform) elapse(now time.Time) {
	for n := range p.instances {
		i := &p.instances[n]
		if !i.turns.IsZero() && !i.turns.After(now) {
			i.Status, i.turns = i.becomes, time.Time{}
		}
		if !i.ready.IsZero() && !i.ready.After(now) {
			for d := range i.disks {
				i.disks[d].Ready = true
			}
			i.ready = time.Time{}
		}
	}
	p.record(now)
}

// next is when something is due, the zero time for never.
func (p *smallPlatform) next() (next time.Time) {
	for _, i := range p.instances {
		if !i.gone {
			next = fate.Sooner(next, i.turns)
			next = fate.Sooner(next, i.ready)
		}
	}
	return next
}
