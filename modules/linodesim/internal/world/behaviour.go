package world

import (
	"fmt"
	"strconv"
	"strings"
)

// LastNode chooses what deleting the only node of a pool does.
type LastNode int

// Answers to deleting the last node.
const (
	KeepEmptyPool LastNode = iota
	RemovePool
	RefuseLastDelete
)

// LostLinode chooses what LKE does about a deleted Linode of a worker.
type LostLinode int

// Answers to a deleted Linode.
const (
	RecreateLinode LostLinode = iota
	LeaveHole
)

// PassingVolumes chooses when a Linode loses volumes that were attached with persist_across_boots false.
type PassingVolumes int

// Answers to the end of such an attachment.
const (
	DetachAtStop PassingVolumes = iota
	DetachAtBoot
	KeepAtReboot
)

// Behaviour holds choices where the platform's answer is not known;
// linodesim.Behaviour explains them.
type Behaviour struct {
	LastNode                                      LastNode
	LostLinode                                    LostLinode
	PassingVolumes                                PassingVolumes
	AllowLastPool, AllowZeroCount, AllowIsolation bool
	RefuseReservedTaintKeys, UnlistedNotFound     bool
	RefuseBeyondLimits                            bool
	LabelForm                                     string
}

// Parts of Behaviour.LabelForm.
const (
	LabelCluster = "<cluster>"
	LabelPool    = "<pool>"
	LabelHex     = "<12 hex digits>"
)

// linodeLabel gives the label of a worker's Linode.
func (w Nodes) linodeLabel(n *node) string {
	_, hex, _ := strings.Cut(n.ID, "-")
	switch {
	case w.behaviour.LabelForm == "" && n.pool.Label != "": // documented
		return fmt.Sprintf("lke%d-%s-%s", n.ClusterID, n.pool.Label, hex)
	case w.behaviour.LabelForm == "":
		return n.Name()
	}
	return strings.NewReplacer(LabelCluster, strconv.Itoa(n.ClusterID), LabelPool, strconv.Itoa(n.PoolID), LabelHex,
		hex).Replace(w.behaviour.LabelForm)
}
