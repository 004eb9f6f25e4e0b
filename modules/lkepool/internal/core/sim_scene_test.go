package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// The commands of the transcripts; testdata/README.md describes them.

func (sc *scene) platform(w sceneWords) error {
	world := &sc.plan.world
	world.stale, world.lag, world.latency = w.span("stale", world.stale), w.span("lag", world.lag), w.span("latency", world.latency)
	if ids := w.span("ids", 0); ids > 0 {
		sc.delays.idLeast, sc.delays.idMost = ids, w.span("most", ids)
	}
	sc.plan.maxNodes, sc.plan.poolSize = w.number("most-nodes", sc.plan.maxNodes), w.number("pool-size", sc.plan.poolSize)
	sc.plan.lateEffect = w.span("late-effect", sc.plan.lateEffect)
	sc.repairs = w.text("lost", "hole") == "repaired"
	sc.room, sc.full = w.number("room", sc.room), claims.Kind(w.text("full", string(claims.KindQuotaExceeded)))
	sc.plan.known, sc.plan.holderLag = sc.plan.known || w.flag("holder"), w.span("holder-lag", sc.plan.holderLag)
	sc.process.clock += w.span("clock", 0)
	return nil
}

var sceneOps = []Op{OpListPools, OpListInstances, OpGetPool, OpGetInstance, OpCreate, OpScale, OpMark, OpRemove, OpRetire, OpDrop}

func (sc *scene) addFault(w sceneWords) error {
	if w.flag("none") {
		sc.fates = nil
		return nil
	}
	f := simFate{from: sc.Now, times: w.number("times", 1), pick: w.number("pick", 1), takes: w.span("takes", 10*time.Minute),
		late: w.span("late", time.Minute)}
	name := strings.ReplaceAll(w.text("op", ""), "-", " ")
	for _, o := range sceneOps {
		if string(o) == name {
			f.op = o
		}
	}
	kind := strings.ReplaceAll(w.text("kind", ""), "-", " ")
	for k := faultNone + 1; k <= faultLate; k++ {
		if k.String() == kind {
			f.kind = k
		}
	}
	if f.op == "" || f.kind == faultNone {
		return fmt.Errorf("op %q or kind %q is not known", name, kind)
	}
	if kind := w.text("as", ""); kind != "" {
		f.pick = slices.IndexFunc(simRefusals, func(e claims.Error) bool { return string(e.Kind) == kind })
		if f.pick < 0 {
			return fmt.Errorf("the platform refuses nothing as %q", kind)
		}
		if f.pick%2 == 0 {
			f.pick += len(simRefusals)
		}
	}
	switch name := w.text("node", ""); name {
	case "":
	case "first":
		f.pick += (f.pick % 2) * len(simRefusals)
	default:
		i, err := sc.node(name)
		if err != nil {
			return err
		}
		f.instance = i.ID
	}
	sc.fates = append(sc.fates, f)
	return nil
}

// gap answers direct reads with 404 for a while.
func (sc *scene) gap(w sceneWords) error {
	sc.plan.gaps = append(sc.plan.gaps, simGap{
		Gap:   schedule.Gap{From: sc.Now, Length: w.span("length", 10*time.Second), Share: 1},
		pools: w.flag("pools"), instances: w.flag("instances"),
	})
	return nil
}

func (sc *scene) comes(w sceneWords) error {
	for _, name := range w.names() {
		c, err := sc.claimant(name)
		if err != nil || !c.alive {
			c = sc.newClaimant(name, lkepool.Key{NodePool: w.text("key", "web"), InstanceType: "g6-standard-2"})
		}
		sc.asks(c, w.span("patience", 10*time.Minute), w.span("again", 0), false)
	}
	sc.runUntil(sc.Now)
	return nil
}

func (sc *scene) newClaimant(name string, key lkepool.Key) *simClaimant {
	c := &simClaimant{Claimant: claims.Claimant{Name: name, UID: "uid-" + strconv.Itoa(len(sc.claimants))}, key: key, hash: key.Hash(),
		alive: true,
		first: sc.Now}
	c.id = simTags.ID(c.Claimant)
	sc.claimants = append(sc.claimants, c)
	return c
}

// asks requests a node, and again after each error if again is not 0.
func (sc *scene) asks(c *simClaimant, patience, again time.Duration, quiet bool) {
	c.asked = true
	request := lkepool.Request{Claimant: c.Claimant, Key: c.key, PoolTags: []string{"karpenter.sh/nodepool=" + c.key.NodePool}}
	sc.ask(c.Name, Ask{Kind: AskClaim, Request: request}, patience, func(a Answer) {
		switch {
		case !c.alive:
			return
		case a.Err == nil:
			sc.checkHanded(c, a.Node)
			c.handed, c.instance, c.served, c.recorded = a.Node.InstanceID, a.Node.InstanceID, sc.Now, sc.Now
			if !quiet {
				sc.line("%s has %s", c.Name, sc.nodeName(c.instance))
			}
			return
		case !quiet:
			sc.line("%s: %s", c.Name, claims.KindOf(a.Err))
		}
		if again > 0 {
			sc.After(again, func() { sc.asks(c, patience, again, quiet) })
		}
	})
}

func (sc *scene) burst(w sceneWords) error {
	n, keys, over := w.number("claims", 10), w.number("keys", 1), w.span("over", 0)
	for i := range n {
		sc.After(over*time.Duration(i)/time.Duration(n), func() {
			c := sc.newClaimant("b"+strconv.Itoa(len(sc.claimants)),
				lkepool.Key{NodePool: "burst-" + strconv.Itoa(i%keys), InstanceType: "g6-standard-2"})
			sc.asks(c, 10*time.Minute, time.Second, true)
		})
	}
	sc.runUntil(sc.Now + over)
	return nil
}

func (sc *scene) releases(w sceneWords) error {
	for _, name := range w.names() {
		c, err := sc.claimant(name)
		if err != nil {
			return err
		}
		c.releasing = true
		sc.ask("release by "+name, Ask{Kind: AskRelease, ID: c.instance, By: c.Claimant}, w.span("patience", 10*time.Second), func(a Answer) {
			switch kind := claims.KindOf(a.Err); kind {
			case "":
				sc.line("%s: removal accepted", name)
			case claims.KindNotFound:
				c.alive = false
				sc.line("%s: its node is gone", name)
			default:
				sc.line("%s: not released: %s", name, kind)
			}
		})
	}
	sc.runUntil(sc.Now + w.span("wait", 3*time.Second))
	return nil
}

func (sc *scene) ends(w sceneWords) error {
	for _, name := range w.names() {
		c, err := sc.claimant(name)
		if err != nil {
			return err
		}
		c.alive = false
	}
	return nil
}

func (sc *scene) passes(w sceneWords) error {
	if len(w.CmdArgs) == 0 {
		return fmt.Errorf("wait needs a duration")
	}
	span, err := time.ParseDuration(w.CmdArgs[0].Key)
	if err != nil {
		return err
	}
	sc.runUntil(sc.Now + span)
	return nil
}

// until waits until all claimants that exist have a node.
func (sc *scene) until(w sceneWords) error {
	most := sc.Now + w.span("within", time.Minute)
	for sc.failure == "" {
		waiting := 0
		for _, c := range sc.claimants {
			if c.alive && c.instance == 0 {
				waiting++
			}
		}
		if waiting == 0 {
			sc.line("all served")
			return nil
		}
		if sc.Now >= most {
			return fmt.Errorf("%d claimants are not served within %s", waiting, w.span("within", time.Minute))
		}
		sc.runUntil(sc.Now + 50*time.Millisecond)
	}
	return nil
}

func (sc *scene) restarts(w sceneWords) error {
	gap := w.span("gap", 5*time.Second)
	sc.process.clean = w.flag("clean")
	sc.die(gap, w.span("clock", sc.process.clock))
	sc.runUntil(sc.Now + gap)
	return nil
}
