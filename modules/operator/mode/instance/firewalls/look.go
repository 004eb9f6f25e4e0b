package firewalls

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// finding says how much of a Linode a firewall protects.
type finding string

const (
	unknown  finding = "unknown"  // there was no answer since the node registered; before that, everything is attached
	complete finding = "complete" // the firewall protects the whole Linode
	partial  finding = "partial"  // it protects some of the interfaces
	lacking  finding = "lacking"  // it protects nothing of the Linode
)

// look judges a Linode by the remembered answer about its firewall, and returns the time of that answer.
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

// judge returns complete if the firewall lists the Linode itself, as it does for legacy interfaces, or all of its Linode interfaces. An
// interface names its Linode as its parent. While a listed interface has no parent, judge returns unknown.
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
