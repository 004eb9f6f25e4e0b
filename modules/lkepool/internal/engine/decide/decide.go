package decide

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// Decider decides what to do about the belief and who waits.
type Decider struct {
	turn   *turn
	reads  *reader
	survey *surveyor
	supply *supplier
	claim  *claimer
	buy    *buyer
	remove *remover
	watch  *watcher
	serve  *server
}

// New decides over the belief, for the callers. cfg has its defaults.
func New(cfg lkepool.Config, limits lkepool.Limits, known *belief.Belief, callers *callers.Callers) *Decider {
	t := &turn{cfg: cfg, limits: limits, known: known, callers: callers}
	r := &reader{turn: t}
	d := &Decider{
		turn: t, reads: r, survey: &surveyor{reader: r}, supply: &supplier{r}, claim: &claimer{r}, buy: &buyer{r}, remove: &remover{r},
		watch: &watcher{reader: r, pace: plan.Pace{Few: tuning.FewNodes}},
	}
	d.serve = &server{reader: r, claim: d.claim, remove: d.remove, sweep: &sweeper{reader: r, remove: d.remove}}
	return d
}

// Decide chooses what to do about all that is known, for all keys together, after an
// event that was answered with these actions and brought this news. wake is when it has
// to be called again at the latest, the zero time for never.
func (d *Decider) Decide(now time.Time, answers []event.Action, news belief.News) (actions []event.Action, wake time.Time) {
	d.turn.now, d.turn.actions, d.turn.wakeAt = now, answers, time.Time{}
	d.hear(news)
	if !d.turn.callers.Idle() {
		d.decide()
	}
	if d.turn.callers.Idle() {
		return slices.DeleteFunc(d.turn.actions, d.turn.known.Withdraw), time.Time{}
	}
	return d.turn.actions, d.turn.wakeAt
}

// hear answers the claimants that an error concerns.
func (d *Decider) hear(news belief.News) {
	if news.Refused != nil {
		d.buy.refuseUnserved(news.Key, news.Refused)
	}
	if claim := d.turn.callers.Of(news.Claimant); news.MarkRefused != nil && claim != nil {
		d.turn.deliver(claim, lkepool.Node{}, news.MarkRefused)
	}
	if news.Grown {
		d.watch.grown()
	}
}

func (d *Decider) decide() {
	d.reads.countReads()
	d.turn.known.Witness()
	d.claim.restoreTags()
	d.remove.finishRemovals()
	if demands := d.demands(); len(demands) > 0 && d.survey.informed(demands) {
		clear, unread := d.survey.identify()
		for _, demand := range demands {
			d.supply.supply(demand)
			if clear && !unread[demand.waiting[0].Hash] {
				d.claim.match(demand)
				d.buy.buy(demand)
			}
		}
		d.watch.watch(d.watch.onTheirWay())
	}
	d.turn.callers.Serve(d.serve.serve)
}

// demands answers the claimants that have a node, and returns what the others
// want, by key.
func (d *Decider) demands() []*demand {
	byHash := map[string]*demand{}
	var demands []*demand
	for _, claim := range slices.Clone(d.turn.callers.Claims) {
		if !claim.Waits() || d.claim.giveBack(claim) {
			continue
		}
		wanted, ok := byHash[claim.Hash]
		if !ok {
			wanted = &demand{key: claim.Request.Key, state: d.turn.known.Purchases.Keyed(claim.Hash)}
			byHash[claim.Hash] = wanted
			demands = append(demands, wanted)
		}
		wanted.waiting = append(wanted.waiting, claim)
	}
	d.turn.callers.Forget(d.turn.now.Add(-d.turn.cfg.OrphanTTL))
	return demands
}
