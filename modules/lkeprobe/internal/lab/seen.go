package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// Note writes down what was measured, also of nodes that have not come.
func (a *Arrival) Note() {
	l := a.pool.lab
	a.weigh()
	for i := range a.entries {
		l.since(report.NodeEntry, &a.entries[i], a.asked)
		l.since(report.InstanceID, &a.ids[i], a.asked)
		l.since(report.LinodeListed, &a.linodes[i], a.asked)
		base := &a.ids[i]
		if l.Enterprise { // entries come late there
			base = &a.linodes[i]
			if a.tagged[i].Seen() && base.Seen() {
				l.Book.Delay(report.LinodeTagged, a.tagged[i].After(base))
			}
		}
		if a.ready[i].Seen() && base.Seen() {
			l.Book.Delay(report.Ready, a.ready[i].After(base))
		}
		if a.nodes[i].Seen() && base.Seen() {
			l.Book.Delay(report.NodeReady, a.nodes[i].After(base))
		}
		for _, lost := range []struct {
			what string
			n    int
		}{{"an entry of a node missing after it was there", a.entries[i].Lost()},
			{"a Linode missing in the list after it was there", a.linodes[i].Lost()}} {
			for range lost.n {
				l.Book.Anomaly(lost.what)
			}
		}
	}
}

// weigh compares the nodes with what the operator assumes.
func (a *Arrival) weigh() {
	book := a.pool.lab.Book
	for n, i := range a.First {
		took := a.ids[n].Since(a.asked)
		if a.pool.lab.Enterprise { // only lists show it there, which may be late; the API's own time may be from another clock
			took = a.linodes[n].Since(a.asked)
			took.AtLeast = min(took.AtLeast, max(0, i.Created.Sub(a.asked.From)))
		}
		book.Within(report.LateIDs, firstID, "a Linode's ID", took)
		// The operator buys another plan in the place of a late node, which helps only if other nodes come in time.
		book.Mostly(report.LateIDs, took.AtLeast <= operatorWaits, fmt.Sprintf("nodes got their Linode after %v", operatorWaits))
	}
	if waited := time.Since(a.asked.To); len(a.First) < len(a.linodes) && waited > never && len(a.own()) < len(a.linodes) {
		book.Weigh(report.HangingPools, false, "%d of %d nodes had no Linode after %v", len(a.linodes)-len(a.First), len(a.linodes),
			waited.Round(time.Minute))
	} else if len(a.First) == len(a.linodes) {
		book.Weigh(report.HangingPools, true, "%d of %d nodes have a Linode", len(a.First), len(a.linodes))
	}
}

func (l *Lab) since(name string, m *poll.Mark, asked poll.Window) {
	if m.Seen() {
		l.Book.Delay(name, m.Since(asked))
	}
}

// Linodes lists the IDs of the new nodes' Linodes.
func (a *Arrival) Linodes() []int { return a.own() }

// TagForm describes the tags of the first Linode, in terms of the pool and the
// cluster.
func (a *Arrival) TagForm() string {
	list := a.latest
	if len(list) == 0 {
		return "none"
	}
	pool, own := 0, []string{}
	for _, t := range list {
		switch {
		case t == fmt.Sprintf("lke%d", a.pool.lab.ClusterID):
			own = append(own, "lke<cluster>")
		case t == fmt.Sprintf("nodepool=%d", a.pool.ID):
			own = append(own, "nodepool=<pool>")
		case slices.Contains(a.pool.Tags, t):
			pool++
		default:
			own = append(own, "another")
		}
	}
	if pool == len(a.pool.Tags) {
		own = append(own, "the pool's")
	} else if pool > 0 {
		own = append(own, "some of the pool's")
	}
	return strings.Join(own, ", ")
}

// WaitForID waits until all nodes have a Linode's ID, by reads of the pool alone: many pools wait at once, and lists have a low limit.
func (a *Arrival) WaitForID(ctx context.Context) error {
	return poll.Until(ctx, func(ctx context.Context) (bool, error) {
		if err := a.pool.readPool(ctx, []*Arrival{a}); err != nil {
			return false, err
		}
		return a.ids[len(a.ids)-1].Seen(), poll.Pause(ctx, 2*time.Second)
	})
}

// NoteAs notes the delays of the IDs under a name of their own.
func (a *Arrival) NoteAs(name string) {
	for i := range a.ids {
		a.pool.lab.since(name, &a.ids[i], a.asked)
	}
}
