package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// Note writes down what was measured, also of nodes that have not come.
func (a *Arrival) Note() {
	l := a.pool.lab
	for i := range a.entries {
		l.since(report.NodeEntry, &a.entries[i], a.asked)
		l.since(report.InstanceID, &a.ids[i], a.asked)
		l.since(report.LinodeListed, &a.linodes[i], a.asked)
		base := &a.ids[i]
		if l.Enterprise { // entries come late there
			base = &a.linodes[i]
			if a.tagged[i].Seen() && base.Seen() {
				l.Delay(report.LinodeTagged, a.tagged[i].After(base))
			}
		}
		if a.ready[i].Seen() && base.Seen() {
			l.Delay(report.Ready, a.ready[i].After(base))
		}
		if a.nodes[i].Seen() && base.Seen() {
			l.Delay(report.NodeReady, a.nodes[i].After(base))
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

func (l *Lab) since(name string, m *poll.Mark, asked poll.Window) {
	if m.Seen() {
		l.Delay(name, m.Since(asked))
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
