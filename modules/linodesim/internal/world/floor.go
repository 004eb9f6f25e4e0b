package world

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// Visibility is when a node's Linode can first be found through the API in
// the way its tier offers: on Standard once it has an ID, on Enterprise once
// it carries LKE's tags; and not before the request for it was answered.
type Visibility struct {
	ClusterID, PoolID  int
	NodeID             string
	Requested, Visible time.Time
}

// Floor measures the nodes that were requested at or after the given time.
// Nodes that never get a Linode do not count.
func (w *Moment) Floor(since time.Time) account.Floor {
	var f account.Floor
	for _, v := range w.records.visible {
		if v.Requested.Before(since) {
			continue
		}
		f.Nodes++
		f.Longest = max(f.Longest, v.Visible.Sub(v.Requested))
		if v.Visible.After(f.Last) {
			f.Last = v.Visible
		}
	}
	return f
}
