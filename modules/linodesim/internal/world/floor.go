package world

import "time"

// Visibility is when a node's Linode can first be found through the API in
// the way its tier offers: on Standard once it has an ID, on Enterprise once
// it carries LKE's tags; and not before the request for it was answered.
type Visibility struct {
	ClusterID, PoolID  int
	NodeID             string
	Requested, Visible time.Time
}

// Floor is the platform's own share of a scale-up: no client can be quicker.
type Floor struct {
	Nodes   int           // nodes requested at or after the start
	Last    time.Time     // when the last of them becomes visible; zero without nodes
	Longest time.Duration // the longest time of one of them from its request to being visible
}

// Floor measures the nodes that were requested at or after the given time.
// Nodes that never get a Linode do not count.
func (w *Moment) Floor(since time.Time) Floor {
	var f Floor
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
