package engine

import "maps"

// owning counts the nodes of each instance type that our pools have, those included
// that purchases under way are to add.
func (c *Core) owning() map[string]int {
	owned := maps.Clone(c.buying)
	for _, p := range c.world.pools.rows {
		if p.ours() {
			owned[p.InstanceType] += p.Count
		}
	}
	return owned
}
