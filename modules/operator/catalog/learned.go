package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Figures describe registered nodes of a plan and a shape, in bytes, pods and thousandths of a CPU; 0 = not known yet.
type Figures struct {
	Memory           int64 // capacity
	EphemeralStorage int64 // capacity
	Pods             int64 // allocatable
	ReservedCPU      int64 // capacity minus allocatable; the other reservations likewise
	ReservedMemory   int64
	ReservedStorage  int64
}

// LearnedBy returns the key under which the figures of nodes of a plan and a class are learned: the plan, and a hash of the class's
// fields that change the figures. On LKE no field changes them. A nil class sets nothing.
func (c *Catalog) LearnedBy(plan string, class *v1alpha1.LinodeNodeClassSpec) string {
	if c.cfg.Mode != v1alpha1.ModeInstance || class == nil {
		return plan
	}
	return shapeOf(class.Effective(c.cfg.Mode)).key(plan)
}

// Mode returns the operator's mode, which determines the fields of a class that count.
func (c *Catalog) Mode() v1alpha1.Mode { return c.cfg.Mode }

// learnedOf returns the learned figures of nodes of a plan and a shape. If no node of the shape has registered, memory is the figure of
// the plan.
func (c *Catalog) learnedOf(plan string, s shape) Figures {
	if c.cfg.Mode != v1alpha1.ModeInstance {
		return c.learned[plan]
	}
	figures := c.learned[s.key(plan)]
	figures.Memory = cmp.Or(figures.Memory, c.learned[plan].Memory)
	return figures
}

// Learn takes the figures of registered nodes, by the keys of LearnedBy, and returns whether anything changed. A figure that leaves less
// for pods counts at once. A figure that leaves more counts if it is larger by a hundredth, so that small differences between nodes do
// not start consolidation. Learn ignores impossible figures, because a kubelet, or a client that writes the stored figures, may report
// anything. Impossible figures are more than the plan has, less than half of it, an unexpected reservation of more than half, and figures
// of a plan that is not offered.
func (c *Catalog) Learn(seen map[string]Figures) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, figures := range seen {
		plan, shaped, _ := strings.Cut(key, keySeparator)
		at := slices.IndexFunc(c.plans, func(p Plan) bool { return p.ID == plan })
		if at < 0 {
			continue
		}
		p, known := c.plans[at], c.learned[key]
		expected := estimated(p, Settings{Tier: c.cfg.Tier})
		if shaped != "" { // its disk is the class's and not the plan's
			figures.EphemeralStorage, figures.ReservedStorage = 0, 0
		}
		next := Figures{
			Memory:           capacityOf(known.Memory, figures.Memory, int64(p.Memory)*mib),
			EphemeralStorage: capacityOf(known.EphemeralStorage, wholeDisk(p, figures.EphemeralStorage), int64(p.Disk)*mib),
			Pods:             capacityOf(known.Pods, figures.Pods, defaultMaxPods),
			ReservedCPU:      reservationOf(known.ReservedCPU, figures.ReservedCPU, int64(p.VCPUs)*1000, 0),
			ReservedMemory:   reservationOf(known.ReservedMemory, figures.ReservedMemory, int64(p.Memory)*mib, expected.reserved),
			ReservedStorage:  reservationOf(known.ReservedStorage, figures.ReservedStorage, int64(p.Disk)*mib, 0),
		}
		if next != known {
			c.learned[key], changed = next, true
		}
	}
	if changed {
		c.version++
	}
	return changed
}

// wholeDisk returns the shown figure if the node's root disk is the whole disk of the plan, and 0 if a class made the root disk smaller.
// The file system takes about 2%.
func wholeDisk(p Plan, shown int64) int64 {
	if shown < int64(p.Disk)*mib/10*9 {
		return 0
	}
	return shown
}

// capacityOf returns the capacity that counts after a node has shown a figure. 0 stands for no figure. A figure that is impossible for
// the plan changes nothing.
func capacityOf(known, seen, plan int64) int64 {
	if seen < plan/2 || seen > plan || seen <= 0 || known > 0 && seen >= known && seen-known < max(known/100, 1) {
		return known
	}
	return seen
}

// reservationOf returns the reservation that counts after a node has shown one. A reservation that is impossible for the plan changes
// nothing. Small plans of LKE Enterprise are expected to reserve more than half of their memory.
func reservationOf(known, seen, plan, expected int64) int64 {
	if seen > max(plan/2, expected) || seen <= 0 || seen < known && known-seen < max(plan/100, 1) {
		return known
	}
	return seen
}

// Forget drops the figures of a key.
func (c *Catalog) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.learned[key]; known {
		delete(c.learned, key)
		c.version++
	}
}

// Learned returns the learned figures by the keys of LearnedBy. The map belongs to the caller.
func (c *Catalog) Learned() map[string]Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.learned)
}
