package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
)

// Decision holds the choices of one turn.
type Decision struct {
	// Replies are answers to claimants, and to other callers.
	Replies []Reply
	// Actions are requests to the platform.
	Actions []event.Action
	// Wake is when the next turn has to be at the latest, the zero time for never.
	Wake time.Time
}

// Reply is the answer to a claimant, or to the caller with a token.
type Reply struct {
	Claimant claims.ClaimID
	Token    int
	Answer   event.Answer
}

// Decide chooses the next actions and answers from all that is known, for all keys together.
func Decide(cfg lkepool.Config, limits lkepool.Limits, k known.View, c callers.View, news known.News) Decision {
	chosen := &turn{cfg: cfg, limits: limits, known: k, callers: c, now: k.Now()}
	supply := supplier{claimer{reader{chosen}}}
	t, others := buyer{supply}, server{sweeper{remover{supply}}}
	t.hear(news)
	t.restore()
	others.finishRemovals()
	if demands := t.demands(); len(demands) > 0 && t.informed(demands) {
		for _, d := range demands {
			t.supply(d)
			t.match(d)
			t.buy(d)
		}
		t.watch()
	}
	for r := range c.Requests() {
		others.serve(r)
	}
	return chosen.chosen
}

// hear answers the claimants that an error concerns.
func (t buyer) hear(news known.News) {
	if news.Refused != nil {
		t.refuseUnserved(news.Key, news.Refused)
	}
	if claim := t.callers.Of(news.Claimant); news.MarkRefused != nil && claim != nil && claim.Waits() {
		t.refuse([]*callers.Claim{claim}, news.MarkRefused)
	}
}

// demand has the waiting claimants of one key, and the nodes that there are for them.
type demand struct {
	key  lkepool.Key
	hash string
	// waiting have no instance, in the order of their first calls.
	waiting []*callers.Claim
	// pools can be used, edited cannot because they were edited.
	pools, edited []*known.Pool
	// free are the nodes that may be handed out. soon counts free nodes that have to wait, coming
	// the nodes on their way, and overdue the nodes that have been on their way for too long.
	free                  []*known.Node
	soon, coming, overdue int
	// unclear: the pools have to be read before anything is bought.
	unclear bool
}

// unserved returns the claimants for which no node is free or on its way.
func (d *demand) unserved() []*callers.Claim {
	return d.waiting[min(len(d.waiting), len(d.free)+d.soon+d.coming):]
}

// demands answers the claimants that have an instance, and returns the demands of the other claimants, by key.
func (t buyer) demands() []*demand {
	byHash := map[string]*demand{}
	var demands []*demand
	for claim := range t.callers.Claims() {
		if !claim.Waits() || t.answered[claim] || t.giveBack(claim) {
			continue
		}
		d, ok := byHash[claim.Hash()]
		if !ok {
			d = &demand{key: claim.Request().Key, hash: claim.Hash()}
			byHash[claim.Hash()] = d
			demands = append(demands, d)
		}
		d.waiting = append(d.waiting, claim)
	}
	return demands
}
