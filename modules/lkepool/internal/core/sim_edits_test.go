package core

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// simEdit identifies a change that a person makes by hand, or the platform by itself.
type simEdit int

const (
	editRename simEdit = iota
	editStripClaim
	editStripAll
	editCopyClaim
	editRaiseCount
	editLowerCount
	editDeleteLinode
	editAutoscale
	editDeletePool
	editPowerOff
	editKinds
	// editRecycle replaces a node by another one, as a person can in LKE. It is
	// drawn in schedules with late effects alone.
	editRecycle
)

func (e simEdit) String() string {
	return [...]string{
		"rename a Linode", "strip a claim", "strip all tags", "copy a claim", "raise a count", "lower a count",
		"delete a Linode", "switch the autoscaler on", "delete a pool", "power a Linode off", "", "recycle a node",
	}[e]
}

// edit applies one edit to the object that pick chooses, and reports false if
// no object fits.
func (p *simPlatform) edit(e simEdit, pick int) bool {
	switch e {
	case editRaiseCount, editLowerCount, editAutoscale, editDeletePool:
		of := pickOne(p.pools, pick, func(of *simPool) bool { return !of.gone && of.ours() && len(of.slots) > 0 })
		return of != nil && p.editPool(e, of)
	}
	i := pickOne(p.instances, pick, func(i *simInstance) bool { return i.lives() && i.pool.ours() })
	return i != nil && p.editInstance(e, i, pick)
}

func (p *simPlatform) editPool(e simEdit, of *simPool) bool {
	of.edited = true
	switch e {
	case editRaiseCount:
		of.raised, of.disturbed = p.Now, p.Now
		p.added++
		p.grow(of, 1)
	case editLowerCount:
		if len(of.slots) < 2 {
			return false
		}
		p.remove(of, of.slots[p.random.IntN(len(of.slots))])
		of.disturbed = p.Now
		p.taken++
	case editAutoscale:
		p.taken += len(of.slots)
		of.Autoscaled = true
		p.record(of)
	case editDeletePool:
		of.disturbed = p.Now
		p.taken += len(of.slots)
		p.drop(of)
	}
	return true
}

func (p *simPlatform) editInstance(e simEdit, i *simInstance, pick int) bool {
	switch e {
	case editRename:
		i.Name = "renamed-" + i.Name
	case editStripClaim:
		i.Tags = slices.DeleteFunc(slices.Clone(i.Tags), simTags.OfClaim)
		i.edited = true
	case editStripAll:
		i.Tags = nil
		i.edited = true
	case editCopyClaim:
		from := pickOne(p.instances, pick/7, func(other *simInstance) bool {
			return other != i && other.lives() && !simTags.ClaimIn(other.Tags).None()
		})
		if from == nil {
			return false
		}
		kept := slices.DeleteFunc(slices.Clone(i.Tags), simTags.OfClaim)
		i.Tags = claims.Union(kept, slices.DeleteFunc(slices.Clone(from.Tags), func(tag string) bool { return !simTags.OfClaim(tag) }))
		i.edited, i.copied = true, true
	case editDeleteLinode:
		p.lose(i)
		return true
	case editRecycle:
		p.taken++
		of := i.pool
		if i.marked == 0 {
			of.disturbed = p.Now
		}
		p.added++ // until it is read, a removal of the old node seems to make room
		i.slot.replaced = true
		p.remove(of, i.slot)
		p.grow(of, 1)
		of.slots[len(of.slots)-1].replaces = true
		return true
	case editPowerOff:
		i.State, i.Status = lkepool.Down, "offline"
	}
	p.recordInstance(i)
	return true
}

// lose deletes a Linode behind its pool's back.
func (p *simPlatform) lose(i *simInstance) {
	p.taken++
	i.gone, i.ended = true, p.Now
	empty := i.ended
	if i.unfoundAt > 0 {
		empty = i.unfoundAt // the process counts the place from then on
	}
	if i.marked == 0 {
		i.pool.disturbed = p.Now
	}
	p.recordInstance(i)
	if i.slot.removed || !p.repairs {
		return
	}
	// A repaired node is a new node in the old one's slot.
	of, slot := i.pool, i.slot
	p.After(p.between(p.delays.idLeast, 2*p.delays.idMost), func() {
		if slot.removed {
			return
		}
		slot.removed, slot.replaced = true, true
		of.slots = slices.DeleteFunc(of.slots, func(other *simSlot) bool { return other == slot })
		p.grow(of, 1)
		of.slots[len(of.slots)-1].since = empty
	})
}

// pickOne returns one of the objects that fit, nil if none does.
func pickOne[T any](all []*T, pick int, fits func(*T) bool) *T {
	for offset := range all {
		if one := all[(pick+offset)%len(all)]; fits(one) {
			return one
		}
	}
	return nil
}
