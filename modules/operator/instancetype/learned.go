package instancetype

import "maps"

// Figures describe nodes of a plan as they were seen; 0 = not yet. Bytes, pods and thousandths of a CPU.
type Figures struct {
	Memory           int64 // smallest capacity
	EphemeralStorage int64 // smallest capacity
	Pods             int64 // smallest allocatable
	ReservedCPU      int64 // largest difference between capacity and allocatable, and so on
	ReservedMemory   int64
	ReservedStorage  int64
}

// Learn takes what nodes of plans have shown and keeps the smallest figures: what the leanest of them has, all have. Figures that cannot
// be are ignored, since a kubelet, or a client that writes the figures down, may report anything: more than the plan has, less than half
// of it, a reservation of more than half, or those of a plan that is not offered. It returns whether anything changed.
func (c *Catalog) Learn(seen map[string]Figures) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plans {
		known, figures := c.learned[p.ID], seen[p.ID]
		next := Figures{
			Memory:           smaller(known.Memory, figures.Memory, int64(p.Memory)*mib),
			EphemeralStorage: smaller(known.EphemeralStorage, wholeDisk(p, figures.EphemeralStorage), int64(p.Disk)*mib),
			Pods:             smaller(known.Pods, figures.Pods, defaultMaxPods),
			ReservedCPU:      larger(known.ReservedCPU, figures.ReservedCPU, int64(p.VCPUs)*1000),
			ReservedMemory:   larger(known.ReservedMemory, figures.ReservedMemory, int64(p.Memory)*mib),
			ReservedStorage:  larger(known.ReservedStorage, figures.ReservedStorage, int64(p.Disk)*mib),
		}
		if next != known {
			c.learned[p.ID], changed = next, true
		}
	}
	if changed {
		c.version++
	}
	return changed
}

// wholeDisk returns the figure of a node whose root disk is all of the plan's, 0 for one that a class made smaller: the file system takes
// about 2%.
func wholeDisk(p Plan, shown int64) int64 {
	if shown < int64(p.Disk)*mib/10*9 {
		return 0
	}
	return shown
}

// smaller returns the smaller of two figures, 0 standing for none, if the second can be true of a plan.
func smaller(known, seen, plan int64) int64 {
	if seen < plan/2 || seen > plan || seen <= 0 || (known > 0 && known <= seen) {
		return known
	}
	return seen
}

// larger returns the larger of two reservations, if the second can be true of a plan.
func larger(known, seen, plan int64) int64 {
	if seen > plan/2 {
		return known
	}
	return max(known, seen)
}

// Forget drops what was learned of a plan.
func (c *Catalog) Forget(instanceType string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.learned[instanceType]; known {
		delete(c.learned, instanceType)
		c.version++
	}
}

// Learned returns what was learned, by plan. The map is the caller's.
func (c *Catalog) Learned() map[string]Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.learned)
}
