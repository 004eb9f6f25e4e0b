package firewalls

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// finding classifies what readings show of a Linode and its firewall.
type finding string

const (
	unknown  finding = "unknown"  // there was no answer, or none since the node registered, before which all is attached
	complete finding = "complete" // it is behind the firewall with all that it has
	doubtful finding = "doubtful" // one reading lacks it
	lacking  finding = "lacking"  // two do
)

// doubt is when a reading began that lacks the Linode, or when this process attached it.
type doubt struct {
	firewall int
	at       time.Time
}

// look reads what is remembered, and for a second reading the firewall itself, once for all Linodes that wait for it.
func (c *Controller) look(ctx context.Context, s *subject) finding {
	entities, read, err := c.cfg.Readings.Protected(ctx, s.firewall)
	first, doubted := c.doubtOf(s)
	proven := first.at.Add(c.cfg.SettleTime)
	if doubted && read.Before(proven) && time.Now().After(proven) {
		c.cfg.Readings.ForgetFirewall(s.firewall)
		entities, read, err = c.cfg.Readings.Protected(ctx, s.firewall)
	}
	if err != nil || entities == nil || !read.After(s.registered) {
		return unknown
	}
	found := judge(entities, s.linode, c.cfg.Interfaces(s.class.Spec))
	switch {
	case found == complete:
		c.doubts.Delete(s.claim.UID)
	case found == lacking && !doubted:
		c.doubts.Set(s.claim.UID, doubt{s.firewall, read}, remembered)
		return doubtful
	case found == lacking && read.Before(proven):
		return doubtful
	}
	return found
}

func (c *Controller) doubtOf(s *subject) (doubt, bool) {
	found, known := c.doubts.Get(s.claim.UID)
	if !known || found.(doubt).firewall != s.firewall { //nolint:forcetypeassert // nothing else is in it
		return doubt{}, false
	}
	return found.(doubt), true //nolint:forcetypeassert // as above
}

// member is one thing that a firewall protects: a Linode with legacy interfaces, or one interface of another Linode.
type member struct{ linode, iface int } // iface 0: the Linode itself

// memberOf reads an entity; false for what is no Linode's. An interface names its Linode as its parent; without that known is false.
func memberOf(entity api.FirewallEntity) (m member, is, known bool) {
	switch entity.Type {
	case api.FirewallEntityTypeLinode:
		return member{linode: entity.ID}, true, true
	case api.FirewallEntityTypeLinodeInterface:
		parent, err := entity.ParentEntity.Get()
		id, number := parent["id"].(float64)
		if err != nil || !number {
			return member{}, false, false
		}
		return member{int(id), entity.ID}, true, true
	}
	return member{}, false, true
}

// judge returns complete for a Linode that is protected itself, or with as many interfaces as it has; lacking or unknown otherwise.
func judge(entities []api.FirewallEntity, linode, interfaces int) finding {
	found := 0
	for _, entity := range entities {
		m, is, known := memberOf(entity)
		switch {
		case !known:
			return unknown
		case is && m == member{linode: linode}:
			return complete
		case is && m.linode == linode:
			found++
		}
	}
	if found >= interfaces {
		return complete
	}
	return lacking
}
