package instancetype

import (
	"maps"
)

// Figures are what nodes of a plan have shown, the smallest of each, in bytes; 0 = nothing yet.
type Figures struct {
	Memory           int64
	EphemeralStorage int64
}

// Learn takes what nodes of plans have shown and keeps the smallest figures: what the leanest of them has, all have.
// Figures that cannot be are ignored, since a node, or whoever wrote the figures down, may say anything: more than the
// plan has, less than half of it, or those of a plan that is not offered. It returns whether anything changed.
func (c *Catalog) Learn(seen map[string]Figures) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.snapshot.plans {
		known, figures := c.learned[p.ID], seen[p.ID]
		next := Figures{
			Memory:           smaller(known.Memory, figures.Memory, int64(p.MemoryMB)*mib),
			EphemeralStorage: smaller(known.EphemeralStorage, figures.EphemeralStorage, int64(p.DiskMB)*mib),
		}
		if next != known {
			c.learned[p.ID], changed = next, true
		}
	}
	if changed {
		c.learnedVersion++
	}
	return changed
}

// smaller returns the smaller of two figures, 0 standing for none, if the second can be true of a plan.
func smaller(known, seen, plan int64) int64 {
	if seen < plan/2 || seen > plan || seen <= 0 || (known > 0 && known <= seen) {
		return known
	}
	return seen
}

// Forget drops what was learned of a plan.
func (c *Catalog) Forget(instanceType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.learned[instanceType]; known {
		delete(c.learned, instanceType)
		c.learnedVersion++
	}
}

// Learned returns what was learned, by plan. The map is the caller's.
func (c *Catalog) Learned() map[string]Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.learned)
}
