package guard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// tagKey names a pool by its tags; order and case do not count.
func tagKey(tags []string) string {
	sorted := slices.Sorted(slices.Values(tags))
	return strings.ToLower(strings.Join(sorted, "\n"))
}

// noteTags remembers the tags that only the probe can have made; they are deleted at the end.
func (g *Guard) noteTags(tags []string) {
	for _, t := range tags {
		if g.rule.OwnTag(t) {
			g.tags[t] = true
		}
	}
}

// seen holds the part of a pool or a Linode that is read in an answer.
type seen struct {
	ID     int      `json:"id"`
	Tags   []string `json:"tags"`
	Taints []taint  `json:"taints"`
	Nodes  []struct {
		ID         string `json:"id"`
		InstanceID *int   `json:"instance_id"`
	} `json:"nodes"`
}

// owned reports whether tags or taints make an object the run's.
func (g *Guard) owned(s seen) bool {
	return slices.ContainsFunc(s.Tags, g.rule.Owned) ||
		slices.ContainsFunc(s.Taints, func(t taint) bool { return g.rule.Owned(t.String()) })
}

// learn reads from an answer which pools and Linodes are the run's. After a deletion, it makes room for other nodes.
func (g *Guard) learn(e Entry, answer []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	root := fmt.Sprintf("/lke/clusters/%d/pools", g.rule.ClusterID)
	linodes := e.Path == "/linode/instances" && e.Method == http.MethodGet
	switch {
	case e.Method == http.MethodDelete:
		if e.Status < 300 || e.Status == http.StatusNotFound {
			g.free(strings.Split(strings.Trim(e.Path, "/"), "/"))
		}
		return
	case e.Status >= 300 || !linodes && e.Path != root && !strings.HasPrefix(e.Path, root+"/"):
		return
	}
	var list struct {
		Data []seen `json:"data"`
	}
	if json.Unmarshal(answer, &list) != nil || list.Data == nil {
		var one seen
		if json.Unmarshal(answer, &one) == nil {
			g.adopt(one, e)
		}
		return
	}
	for _, s := range list.Data {
		if !linodes {
			g.adopt(s, e)
		} else if g.owned(s) {
			g.linodes[s.ID] = true
		}
	}
	if !linodes { // the list lacks the pools whose creation had no answer
		for _, c := range g.unseen {
			c.Note(false, poll.Window{From: e.At, To: e.At})
		}
	}
}

// adopt records a pool and its nodes as the run's if the pool has the run's tag or taint.
func (g *Guard) adopt(p seen, e Entry) {
	if p.ID < 1 || !g.owned(p) {
		return
	}
	key := tagKey(p.Tags)
	if c := g.unseen[key]; c != nil && !c.Seen() && e.Method == http.MethodGet {
		c.Note(true, poll.Window{From: e.At, To: e.At.Add(e.Took)})
		g.late = append(g.late, c.Since(c.sent))
	}
	if !g.pools[p.ID] {
		g.pools[p.ID] = true
		g.asked[strconv.Itoa(p.ID)] = max(g.asked[key], len(p.Nodes))
		delete(g.asked, key)
	}
	g.noteTags(p.Tags)
	for _, n := range p.Nodes {
		g.nodes[n.ID] = true
		if n.InstanceID != nil {
			g.linodes[*n.InstanceID] = true
		}
	}
}

// free makes room for other nodes after a deletion.
func (g *Guard) free(parts []string) {
	switch {
	case len(parts) == 5 && parts[3] == "pools":
		delete(g.asked, parts[4])
	case len(parts) == 5 && parts[3] == "nodes":
		pool, _, _ := strings.Cut(parts[4], "-")
		if g.asked[pool] > 0 {
			g.asked[pool]--
		}
	}
}
