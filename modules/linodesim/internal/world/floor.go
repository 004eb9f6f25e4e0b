package world

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// Visibility is the time when a client can first find a node's Linode through the API.
// On Standard that is when the Linode has an ID, on Enterprise when the Linode has
// LKE's tags. It is never earlier than the answer to the request for the node.
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
