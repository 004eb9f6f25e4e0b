package core_test

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi/internal/core"
)

// call puts a call to the core, which ends after 10 seconds as a call of Karpenter does.
func (l *life) call(a core.Ask, to func(core.Answer)) {
	l.token++
	token, process := l.token, l.process
	l.waiting[token] = to
	l.handle(core.Arrived{Token: token, Ask: a})
	l.agenda.After(10*time.Second, func() {
		if _, waits := l.waiting[token]; waits && process == l.process {
			l.handle(core.Left{Token: token, Cause: context.DeadlineExceeded})
		}
	})
}

// born begins the life of a claimant.
func (l *life) born(c *claimant) {
	c.born = true
	l.needs++
	l.note("%s comes, for %v", c.id.Name, c.deployments)
	l.resume(c)
}

// resume continues what a claimant does: it claims until it has a Machine, and releases when its time has come.
func (l *life) resume(c *claimant) {
	switch {
	case c.dead:
	case c.releasing:
		l.releaseOf(c)
	case c.given == "":
		l.claimOf(c)
	}
}

func (l *life) claimOf(c *claimant) {
	ask := core.Ask{Kind: core.KindClaim, Request: clusterapi.Request{Claimant: c.id, Deployments: c.deployments}}
	l.call(ask, func(a core.Answer) {
		switch {
		case c.dead || c.releasing:
		case a.Err == nil:
			l.give(c, a.Machine)
		case claims.KindOf(a.Err) == claims.KindInsufficientCapacity:
			// Karpenter deletes the NodeClaim and makes another one.
			l.note("%s is refused: %v", c.id.Name, a.Err)
			l.excuses["failed"]++
			l.die(c)
		case claims.KindOf(a.Err) == claims.KindProvisioning || claims.KindOf(a.Err) == claims.KindUnavailable:
			l.agenda.After(l.between(10*time.Millisecond, 3*time.Second), func() { l.resume(c) })
		default:
			l.violated("%s got %v", c.id.Name, a.Err)
		}
	})
}

// give checks what a claimant was given.
func (l *life) give(c *claimant, m clusterapi.Machine) {
	l.note("%s is given %s", c.id.Name, m.Name)
	for _, other := range l.claimants {
		if other != c && other.given == m.UID && !other.dead {
			l.violated("I1: %s is given %s, which %s has", c.id.Name, m.Name, other.id.Name)
		}
	}
	lost := true
	for _, is := range l.platform.machines() {
		lost = lost && (is.uid != m.UID || is.deleting)
	}
	if lost { // a user deleted it meanwhile
		l.agenda.After(time.Second, func() { l.resume(c) })
		return
	}
	c.given = m.UID
	if c.kept < l.scene.horizon*2/3 { // the others live to the end
		l.agenda.After(c.kept, func() {
			if !c.dead {
				c.releasing = true
				l.note("%s is deleted", c.id.Name)
				l.releaseOf(c)
			}
		})
	}
}

func (l *life) releaseOf(c *claimant) {
	if c.given == "" { // a user deleted its Machine
		l.die(c)
		return
	}
	l.call(core.Ask{Kind: core.KindRelease, ProviderID: "linode://" + c.given, By: c.id}, func(a core.Answer) {
		switch {
		case c.dead:
		case claims.KindOf(a.Err) == claims.KindNotFound:
			l.checkGone(c)
			l.die(c)
		default: // accepted, or to be repeated: Karpenter does every five seconds
			l.agenda.After(l.between(time.Second, 5*time.Second), func() { l.resume(c) })
		}
	})
}

func (l *life) checkGone(c *claimant) {
	for _, m := range l.platform.machines() {
		if m.uid == c.given && !m.gone {
			l.violated("%s of %s is reported gone and exists", m.name, c.id.Name)
		}
	}
}

func (l *life) die(c *claimant) {
	c.dead, c.given = true, ""
	l.note("%s is gone", c.id.Name)
}

// sweep collects every minute what nothing needs.
func (l *life) sweep() {
	process := l.process
	l.call(core.Ask{Kind: core.KindWorld}, func(a core.Answer) {
		if process != l.process {
			return
		}
		if a.Err == nil {
			var alive []claims.Claimant
			for _, c := range l.claimants {
				if c.born && !c.dead {
					alive = append(alive, c.id)
				}
			}
			for _, m := range l.core.Orphans(a.World, alive, l.now()) {
				l.agenda.After(l.between(0, 2*time.Second), func() { l.collect(process, m) })
			}
		}
		l.agenda.After(time.Minute, func() {
			if process == l.process {
				l.sweep()
			}
		})
	})
}

func (l *life) collect(process int, m clusterapi.Machine) {
	if process == l.process {
		l.excuses["collected"]++
		l.call(core.Ask{Kind: core.KindRelease, UID: m.UID, By: m.Claim}, func(core.Answer) {})
	}
}
