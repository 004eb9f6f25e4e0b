package localcluster

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// ownPool is the text form of a user's pool: plan, number of nodes, and the bounds of LKE's autoscaler.
var ownPool = regexp.MustCompile(`^([a-z0-9-]+):([0-9]{1,3})(?::([0-9]{1,3})-([0-9]{1,3}))?$`)

// ParsePools reads the user's pools, such as g6-standard-2:2:1-4,g6-dedicated-4:1. The simulated LKE stores the autoscaler's setting and
// does not scale, because only the setting is documented.
func ParsePools(text string) (pools []linodesim.PoolSpec, _ error) {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		m := ownPool.FindStringSubmatch(item)
		if m == nil {
			return nil, fmt.Errorf("pool %q: write plan:nodes or plan:nodes:least-most, such as g6-standard-2:2:1-4", item)
		}
		number := func(digits string) int {
			n, _ := strconv.Atoi(digits) // no error: ownPool allows one to three digits
			return n
		}
		pool := linodesim.PoolSpec{Type: m[1], Count: number(m[2])}
		if m[4] != "" {
			pool.Autoscaler = &api.LKEAutoscaler{Enabled: true, Min: number(m[3]), Max: number(m[4])}
			if pool.Count < pool.Autoscaler.Min || pool.Count > pool.Autoscaler.Max || pool.Autoscaler.Min == 0 {
				return nil, fmt.Errorf("pool %q: write plan:nodes:least-most with 1 <= least <= nodes <= most", item)
			}
		}
		if pool.Count == 0 {
			return nil, fmt.Errorf("pool %q: a pool has at least one node", item)
		}
		pools = append(pools, pool)
	}
	return pools, nil
}
