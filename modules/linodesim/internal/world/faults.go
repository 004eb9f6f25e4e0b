package world

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

type faults struct {
	noCapacity   []account.NoCapacity
	noCapability []account.NoCapability
	accountLimit int         // Linodes; 0 = none
	vcpuLimit    int         // vCPUs of all Linodes; 0 = none
	vpcLimit     int         // VPCs; 0 = none
	neverBoot    map[int]int // pool -> how many of its next Linodes never boot; pool 0 = any
	stall        map[int]int // pool -> how many of its next nodes never get a Linode; pool 0 = any

	enterpriseVersions []string // that the account is offered; nil = the versions of the catalogue

	silence   Silence
	lies      map[report.Assumption]bool // in force
	lieDelays Lies
}

// Silence makes LKE Enterprise accept nodes and give some of them no Linode for a while.
type Silence struct {
	Rate float64       // part of the nodes that get no Linode, from 0 to 1
	For  time.Duration // how long after its request a node gets no Linode
}

func (s Silence) hits(r *rand.Rand) bool { return s.Rate > 0 && r.Float64() < s.Rate }

// KeepSilent makes the silence part of the platform, until Clear.
func (w Faults) KeepSilent(s Silence) { w.faults.silence = s }

// RefuseCapacity takes away the capacity for a plan, in a region or everywhere.
func (w Faults) RefuseCapacity(c account.NoCapacity) {
	w.faults.noCapacity = append(w.faults.noCapacity, c)
}

// RestoreCapacity ends all refusals of RefuseCapacity.
func (w Faults) RestoreCapacity() {
	w.faults.noCapacity = nil
	w.Nodes().serve()
}

// WithdrawCapability takes a capability from a region.
func (w Faults) WithdrawCapability(c account.NoCapability) {
	w.faults.noCapability = append(w.faults.noCapability, c)
}

// RestoreCapabilities ends all effects of WithdrawCapability.
func (w Faults) RestoreCapabilities() {
	w.faults.noCapability = nil
}

// Describe lists the faults in one line each.
func (w Faults) Describe() []string {
	var all []string
	for _, c := range w.faults.noCapacity {
		text := fmt.Sprintf("no capacity for %s in %s", cmp.Or(c.Type, "any plan"), cmp.Or(c.Region, "any region"))
		if c.Silent {
			text += "; LKE Enterprise accepts the nodes without an error"
		}
		all = append(all, text)
	}
	for _, c := range w.faults.noCapability {
		all = append(all, fmt.Sprintf("%s lacks %s", c.Region, c.Capability))
	}
	if n := w.faults.accountLimit; n > 0 {
		all = append(all, fmt.Sprintf("the account is limited to %d Linodes", n))
	}
	if n := w.faults.vcpuLimit; n > 0 {
		all = append(all, fmt.Sprintf("the account is limited to %d vCPUs", n))
	}
	if n := w.faults.vpcLimit; n > 0 {
		all = append(all, fmt.Sprintf("the account is limited to %d VPCs", n))
	}
	if s := w.faults.silence; s.Rate > 0 {
		all = append(all, fmt.Sprintf("LKE Enterprise leaves %g%% of nodes without a Linode for %v, without an error", 100*s.Rate, s.For))
	}
	if v := w.faults.enterpriseVersions; v != nil {
		all = append(all, "LKE Enterprise offers "+strings.Join(v, ", "))
	}
	for _, about := range slices.Sorted(maps.Keys(w.faults.lies)) {
		all = append(all, "lie: "+string(about))
	}
	for _, counts := range []struct {
		of          map[int]int
		what, never string
	}{{w.faults.neverBoot, "Linodes", "boot"}, {w.faults.stall, "nodes", "get a Linode"}} {
		for _, pool := range slices.Sorted(maps.Keys(counts.of)) {
			if n := counts.of[pool]; n > 0 && pool == 0 {
				all = append(all, fmt.Sprintf("the next %d %s never %s", n, counts.what, counts.never))
			} else if n > 0 {
				all = append(all, fmt.Sprintf("the next %d %s of pool %d never %s", n, counts.what, pool, counts.never))
			}
		}
	}
	return all
}

// Clear ends all faults. Nodes that wait because of a fault get their Linodes.
func (w Faults) Clear() {
	w.faults = faults{}
	for _, n := range w.Nodes().waiting() {
		n.held = time.Time{}
	}
	w.Nodes().serve()
}

// SetAccountLimit bounds the Linodes of the account, including requested Linodes;
// 0 means no bound.
func (w Faults) SetAccountLimit(n int) {
	w.faults.accountLimit = n
	w.Nodes().serve()
}

// SetVCPULimit bounds the vCPUs of the account's Linodes; 0 means no bound.
func (w Faults) SetVCPULimit(n int) {
	w.faults.vcpuLimit = n
	w.Nodes().serve()
}

// SetVPCLimit bounds the VPCs of the account; 0 means no bound.
func (w Faults) SetVPCLimit(n int) {
	w.faults.vpcLimit = n
	w.Nodes().serve()
}

// OfferEnterpriseVersions chooses the versions of LKE Enterprise that the account is offered, newest first. Without a
// version the account is offered the catalogue's versions.
func (w Faults) OfferEnterpriseVersions(versions ...string) {
	w.faults.enterpriseVersions = versions
}

// NeverBoot makes the next n Linodes of a pool (0 = of any) stay offline.
func (w Faults) NeverBoot(poolID, n int) {
	w.faults.neverBoot = counted(w.faults.neverBoot, poolID, n)
}

// StallNodes makes the next n nodes of a pool (0 = of any) never get a Linode: the API accepts the count, and no Linode
// appears.
func (w Faults) StallNodes(poolID, n int) {
	w.faults.stall = counted(w.faults.stall, poolID, n)
}

func (c faults) clone() faults {
	c.noCapacity, c.noCapability = slices.Clone(c.noCapacity), slices.Clone(c.noCapability)
	c.neverBoot, c.stall, c.lies = maps.Clone(c.neverBoot), maps.Clone(c.stall), maps.Clone(c.lies)
	return c
}

func counted(m map[int]int, poolID, n int) map[int]int {
	m = maps.Clone(m)
	if m == nil {
		m = map[int]int{}
	}
	m[poolID] = n
	return m
}

func (c faults) neverBoots(poolID int) bool { return take(c.neverBoot, poolID) }
func (c faults) stalls(poolID int) bool     { return take(c.stall, poolID) }

func take(m map[int]int, poolID int) bool {
	for _, id := range []int{poolID, 0} {
		if m[id] > 0 {
			m[id]--
			return true
		}
	}
	return false
}

// Limits of LKE: nodes per cluster (Standard) and per pool.
const (
	maxClusterNodes        = 250
	maxPoolNodes           = 100
	maxPoolNodesEnterprise = 500
)

// checkRoom refuses n more nodes of a plan if the platform or the account has no room for them.
func (w Pools) checkRoom(c *cluster, plan string, n int) error {
	if total := c.total(); c.Tier == catalog.Standard && total+n > maxClusterNodes {
		return Refuse("count", "Clusters are limited to %d nodes; this one has %d.", maxClusterNodes, total)
	}
	if !w.catalog.Available(plan, c.Region) {
		return Refuse("type", "Plan %s is not available in region %s.", plan, c.Region)
	}
	enterprise := c.Tier == catalog.Enterprise
	if o := w.faults.lacks(plan, c.Region); o != nil && (!o.Silent || !enterprise) {
		return outOfCapacity(*o, plan, c.Region)
	}
	// Enterprise accepts the nodes, and they wait for their Linodes; see Nodes.serve.
	if silent := enterprise && !w.behaviour.RefuseBeyondLimits; !silent && w.overLimit(plan, n) {
		return beyondLimits()
	}
	return nil
}

// beyondLimits has the API's words for Linodes. The words for VPCs are not known.
func beyondLimits() *Refusal {
	return Refuse("", "Account Limit reached. Please open a support ticket.")
}

// lacks returns the fault by which a plan has no capacity, nil if it has capacity.
func (c faults) lacks(plan, region string) *account.NoCapacity {
	at := slices.IndexFunc(c.noCapacity, func(o account.NoCapacity) bool {
		return (o.Type == "" || o.Type == plan) && (o.Region == "" || o.Region == region)
	})
	if at < 0 {
		return nil
	}
	return &c.noCapacity[at]
}

// overLimit reports whether n more Linodes of a plan are more than the account may have.
func (w Pools) overLimit(plan string, n int) bool {
	linodes, vcpus := w.owned()
	t, _ := w.catalog.Type(plan)
	return w.faults.accountLimit > 0 && linodes+n > w.faults.accountLimit || w.faults.vcpuLimit > 0 && vcpus+n*t.VCPUs > w.faults.vcpuLimit
}

func outOfCapacity(o account.NoCapacity, plan, region string) *Refusal {
	r := Refuse("type", "There is currently not enough capacity for plan %s in region %s.", plan, region)
	if o.Reason != "" {
		r = &Refusal{Reasons: []Reason{{"", o.Reason}}}
	}
	r.Status = http.StatusBadRequest
	if o.Status != 0 {
		r.Status = o.Status
	}
	return r
}

func (c *cluster) total() int {
	n := 0
	for _, p := range c.pools {
		n += p.Count
	}
	return n
}

// owned counts Linodes, places that will get a Linode, and the vCPUs of both. Places that wait for room do not count.
func (w Pools) owned() (linodes, vcpus int) {
	count := func(plan string) {
		t, _ := w.catalog.Type(plan)
		linodes, vcpus = linodes+1, vcpus+t.VCPUs
	}
	for _, i := range w.instances {
		count(i.Type)
	}
	for _, p := range w.pools {
		for _, m := range p.nodes {
			if m.InstanceID == 0 && !m.waits {
				count(p.Type)
			}
		}
	}
	return linodes, vcpus
}
