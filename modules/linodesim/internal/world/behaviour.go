package world

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
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
	return strings.NewReplacer(account.LabelCluster, strconv.Itoa(n.ClusterID), account.LabelPool, strconv.Itoa(n.PoolID), account.LabelHex,
		hex).Replace(w.behaviour.LabelForm)
}
