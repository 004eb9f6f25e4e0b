package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// hand makes a change as a person does by hand.
func (sc *scene) hand(w sceneWords) error {
	names := w.names()
	if len(names) < 2 {
		return fmt.Errorf("hand needs what is done, and to what")
	}
	kinds := map[string]simEdit{
		"rename": editRename, "strip": editStripClaim, "strip-all": editStripAll, "raise": editRaiseCount, "lower": editLowerCount,
		"delete-linode": editDeleteLinode, "autoscale": editAutoscale, "delete-pool": editDeletePool,
		"power-off": editPowerOff, "recycle": editRecycle,
	}
	kind, ok := kinds[names[0]]
	if !ok && names[0] != "copy-claim" {
		return fmt.Errorf("%q is nothing that a person does here", names[0])
	}
	for _, name := range names[1:] {
		switch {
		case strings.HasPrefix(name, "p"):
			of, err := sc.poolNamed(name)
			if err != nil {
				return err
			}
			sc.editPool(kind, of)
		default:
			i, err := sc.node(name)
			if err != nil {
				return err
			}
			if names[0] == "copy-claim" {
				return sc.copyClaim(i, w.text("to", ""))
			}
			sc.editInstance(kind, i, 0)
		}
	}
	return nil
}

func (sc *scene) copyClaim(from *simInstance, to string) error {
	i, err := sc.node(to)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(i.Tags), simTags.OfClaim)
	i.Tags = claims.Union(kept, slices.DeleteFunc(slices.Clone(from.Tags), func(tag string) bool { return !simTags.OfClaim(tag) }))
	i.edited, i.copied = true, true
	sc.recordInstance(i)
	return nil
}

// lists requests the claimed nodes, with the tags that a caller is shown if it wants them.
func (sc *scene) lists(w sceneWords) error {
	sc.ask("list", Ask{Kind: AskList}, time.Minute, func(a Answer) {
		if a.Err != nil {
			sc.line("list: %s", claims.KindOf(a.Err))
			return
		}
		var nodes []string
		for _, n := range a.Nodes {
			text := sc.nodeName(n.InstanceID) + "=" + n.Claim
			for _, tag := range slices.Sorted(slices.Values(n.Tags)) {
				if w.flag("tags") && strings.HasPrefix(tag, "karpenter.sh/") {
					text += " " + tag
				}
			}
			nodes = append(nodes, text)
		}
		slices.Sort(nodes)
		sc.line("%s", strings.TrimSpace(fmt.Sprintf("list: %d: %s", len(nodes), strings.Join(nodes, " "))))
	})
	sc.runUntil(sc.Now + 12*time.Second)
	return nil
}

// sweepsNow collects what has no claimant that exists.
func (sc *scene) sweepsNow(sceneWords) error {
	alive := sc.alive()
	sc.ask("list", Ask{Kind: AskList}, time.Minute, func(Answer) {
		sc.ask("orphans", Ask{Kind: AskOrphans, Alive: alive}, time.Minute, func(a Answer) {
			var ids []int
			for _, n := range a.Nodes {
				ids = append(ids, n.InstanceID)
			}
			sc.ask("evict", Ask{Kind: AskEvict, Orphans: ids, Alive: alive}, time.Minute, func(a Answer) {
				if a.Err != nil {
					sc.line("sweep: %s", claims.KindOf(a.Err))
				}
			})
		})
	})
	sc.runUntil(sc.Now + 20*time.Second)
	return nil
}

// show is the state of the platform.
func (sc *scene) show(sceneWords) error {
	for _, of := range sc.pools {
		if of.foreign || of.gone {
			continue
		}
		var nodes []string
		for _, slot := range of.slots {
			name, claim := "coming", "-"
			if slot.instance != nil {
				name = sc.nodeName(slot.instance.ID)
				if id := simTags.ClaimIn(slot.instance.Tags); !id.None() {
					claim = id.Value
				}
			}
			nodes = append(nodes, name+"="+claim)
		}
		if len(nodes) > 12 {
			sc.line("%s: count %d", sc.poolName(of.ID), len(of.slots))
			continue
		}
		sc.line("%s: count %d: %s", sc.poolName(of.ID), len(of.slots), strings.Join(nodes, " "))
	}
	return nil
}

// callsSince bounds the calls since the last such check.
func (sc *scene) callsSince(w sceneWords) error {
	all := sc.facts.calls
	if w.text("of", "") == "lists" {
		all = sc.facts.lists
	}
	calls := all - sc.counted
	sc.counted = all
	if most := w.number("at-most", -1); most >= 0 && calls > most {
		return fmt.Errorf("%d calls were made", calls)
	}
	return nil
}

// sceneLine is a write as the transcripts show it.
func (sc *scene) sceneLine(a Action) string {
	switch a.Op {
	case OpCreate:
		return fmt.Sprintf("platform: create a pool of %d for %s", a.Count, a.Key.NodePool)
	case OpScale:
		return fmt.Sprintf("platform: count %d for %s", a.Count, sc.poolName(a.PoolID))
	case OpMark:
		return fmt.Sprintf("platform: tag %s for %s", sc.nodeName(a.InstanceID), simTags.ClaimIn(a.Tags).Value)
	case OpRemove:
		if _, slot := sc.slot(a.PoolID, a.NodeID); slot != nil && slot.instance != nil {
			return fmt.Sprintf("platform: remove %s", sc.nodeName(slot.instance.ID))
		}
		return "platform: remove a slot of " + sc.poolName(a.PoolID)
	}
	if a.Op == OpRetire {
		return "platform: tag " + sc.poolName(a.PoolID) + " as one to be deleted"
	}
	return "platform: delete " + sc.poolName(a.PoolID)
}
