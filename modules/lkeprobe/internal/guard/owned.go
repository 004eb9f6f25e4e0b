package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// owned lists what the API's answers showed to be the run's.
type owned struct {
	pools   map[int]string  // by ID, with their tags as first seen
	counts  map[string]int  // nodes requested, by pool ID, or by tags while the ID is unknown
	nodes   map[string]bool // by ID
	linodes map[int]bool    // by ID
	tags    map[string]bool // that only the probe can have made
	bought  int             // Linodes requested, in all
}

func newOwned() owned {
	return owned{pools: map[int]string{}, counts: map[string]int{}, nodes: map[string]bool{}, linodes: map[int]bool{}, tags: map[string]bool{}}
}

func (o *owned) hasPool(id int) bool    { _, ok := o.pools[id]; return ok }
func (o *owned) hasNode(id string) bool { return o.nodes[id] }
func (o *owned) hasLinode(id int) bool  { return o.linodes[id] }
func (o *owned) poolIDs() []int         { return slices.Sorted(maps.Keys(o.pools)) }
func (o *owned) linodeIDs() []int       { return slices.Sorted(maps.Keys(o.linodes)) }

// slot names the count of a pool's nodes: by its tags until its ID is known.
func slot(pool int, key string) string {
	if pool != 0 {
		return fmt.Sprint(pool)
	}
	return key
}

// tagKey names a pool by its tags, whatever their order and case are.
func tagKey(tags []string) string {
	sorted := slices.Sorted(slices.Values(tags))
	return strings.ToLower(strings.Join(sorted, "\n"))
}

func (o *owned) asked(pool int, key string) int { return o.counts[slot(pool, key)] }
func (o *owned) ask(pool int, key string, n int) {
	o.counts[slot(pool, key)] = n
}

func (o *owned) total() int {
	n := 0
	for _, count := range o.counts {
		n += count
	}
	return n
}

// noteTags remembers tags that will have to go.
func (o *owned) noteTags(tags []string, own func(string) bool) {
	for _, t := range tags {
		if own != nil && own(t) {
			o.tags[t] = true
		}
	}
}

// noteTags remembers the tags in the body of an update.
func (g *Guard) noteTags(body []byte) {
	var w wanted
	if json.Unmarshal(body, &w) == nil && w.Tags != nil {
		g.own.noteTags(*w.Tags, g.rule.OwnTag)
	}
}

// seenPool holds the part of a pool that is read in an answer.
type seenPool struct {
	ID     int      `json:"id"`
	Tags   []string `json:"tags"`
	Taints []taint  `json:"taints"`
	Nodes  []struct {
		ID         string `json:"id"`
		InstanceID *int   `json:"instance_id"`
	} `json:"nodes"`
}

// learn reads ownership from an answer about pools, and frees deleted objects.
func (g *Guard) learn(e Entry, answer []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	root := fmt.Sprintf("/lke/clusters/%d/pools", g.rule.ClusterID)
	parts := strings.Split(strings.Trim(e.Path, "/"), "/")
	switch {
	case e.Method == http.MethodDelete:
		if e.Status < 300 || e.Status == http.StatusNotFound {
			g.free(parts)
		}
	case e.Status < 300 && e.Path == "/linode/instances" && e.Method == http.MethodGet:
		var list struct {
			Data []struct {
				ID   int      `json:"id"`
				Tags []string `json:"tags"`
			} `json:"data"`
		}
		if json.Unmarshal(answer, &list) == nil {
			for _, i := range list.Data {
				if slices.ContainsFunc(i.Tags, g.rule.Owned) {
					g.own.linodes[i.ID] = true
				}
			}
		}
	case e.Status >= 300 || e.Path != root && !strings.HasPrefix(e.Path, root+"/"):
	default:
		var list struct {
			Data []seenPool `json:"data"`
		}
		var one seenPool
		if json.Unmarshal(answer, &list) == nil && list.Data != nil {
			for _, p := range list.Data {
				g.adopt(p, e)
			}
			g.miss(e)
		} else if json.Unmarshal(answer, &one) == nil {
			g.adopt(one, e)
		}
	}
}

// miss notes that a list lacks the pools whose creation had no answer.
func (g *Guard) miss(e Entry) {
	for key, l := range g.lost {
		if !l.shown {
			l.absent = e.At
			g.lost[key] = l
		}
	}
}

// appear notes when a pool shows whose creation had no answer.
func (g *Guard) appear(key string, e Entry) {
	l, was := g.lost[key]
	if !was || l.shown || e.Method != http.MethodGet {
		return
	}
	l.shown = true
	g.lost[key] = l
	g.late = append(g.late, Late{AtLeast: max(0, l.absent.Sub(l.sent)), AtMost: e.At.Add(e.Took).Sub(l.sent)})
}

// adopt makes a pool and its nodes the run's, if its tags or taints do.
func (g *Guard) adopt(p seenPool, e Entry) {
	owned := slices.ContainsFunc(p.Tags, g.rule.Owned) ||
		slices.ContainsFunc(p.Taints, func(t taint) bool { return g.rule.Owned(t.Key + "=" + t.Value) })
	if p.ID < 1 || !owned {
		return
	}
	g.appear(tagKey(p.Tags), e)
	if !g.own.hasPool(p.ID) {
		key := tagKey(p.Tags)
		g.own.pools[p.ID] = key
		g.own.counts[slot(p.ID, "")] = max(g.own.counts[key], len(p.Nodes))
		delete(g.own.counts, key)
	}
	g.own.noteTags(p.Tags, g.rule.OwnTag)
	for _, n := range p.Nodes {
		g.own.nodes[n.ID] = true
		if n.InstanceID != nil {
			g.own.linodes[*n.InstanceID] = true
		}
	}
}

// free makes room for other nodes once some are deleted.
func (g *Guard) free(parts []string) {
	switch {
	case len(parts) == 5 && parts[3] == "pools":
		delete(g.own.counts, parts[4])
	case len(parts) == 5 && parts[3] == "nodes":
		pool, _, _ := strings.Cut(parts[4], "-")
		if g.own.counts[pool] > 0 {
			g.own.counts[pool]--
		}
	}
}
