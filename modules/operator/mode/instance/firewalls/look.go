package firewalls

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// finding classifies what a firewall shows of a Linode.
type finding string

const (
	unknown  finding = "unknown"  // there was no answer, or none since the node registered, before which all is attached
	complete finding = "complete" // it is behind the firewall with all that it has
	partial  finding = "partial"  // some of its interfaces are
	lacking  finding = "lacking"  // nothing of it is
)

// look judges a Linode by the remembered answer about its firewall, and returns when that was read.
func (k *Keeper) look(ctx context.Context, s subject) (finding, time.Time) {
	registered := s.claim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	if !registered.IsTrue() {
		return unknown, time.Time{}
	}
	readings := k.cfg.Readings
	if s.last.refusals > 0 {
		readings = k.cfg.Recheck
	}
	entities, read, err := readings.Protected(ctx, s.firewall)
	if err != nil || entities == nil || !read.After(registered.LastTransitionTime.Time) || !read.After(s.last.at) {
		return unknown, read
	}
	return judge(entities, s.linode, s.protected), read
}

// judge returns complete for a Linode that is protected itself, as Linodes with legacy interfaces are, or with as many interfaces as it
// has. An interface names its Linode as its parent; nothing is known while one does not.
func judge(entities []api.FirewallEntity, linode, interfaces int) finding {
	found := 0
	for _, entity := range entities {
		switch entity.Type {
		case api.FirewallEntityTypeLinode:
			if entity.ID == linode {
				return complete
			}
		case api.FirewallEntityTypeLinodeInterface:
			parent, err := entity.ParentEntity.Get()
			id, number := parent["id"].(float64)
			if err != nil || !number {
				return unknown
			}
			if int(id) == linode {
				found++
			}
		}
	}
	switch {
	case found >= interfaces:
		return complete
	case found > 0:
		return partial
	}
	return lacking
}
