package simulatedccm

import (
	"context"
	"fmt"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// networks remembers the IDs of VPCs and subnets by their labels, and never reads a known ID again (cloud/linode/services/vpc.go). It is
// not safe for concurrent use.
type networks struct {
	vpcs    map[string]int
	subnets map[string]int
}

func newNetworks() networks { return networks{map[string]int{}, map[string]int{}} }

// ids returns the IDs of a VPC and of the named subnets that it has.
func (n networks) ids(ctx context.Context, c *linodehttp.Client, vpc string, subnets []string) (id int, within []string, _ error) {
	id, err := n.vpc(ctx, c, vpc)
	if err != nil {
		return 0, nil, err
	}
	for _, name := range subnets {
		if subnet, err := n.subnet(ctx, c, id, name); err == nil { // a subnet that is not found is left out
			within = append(within, strconv.Itoa(subnet))
		}
	}
	return id, within, nil
}

func (n networks) vpc(ctx context.Context, c *linodehttp.Client, label string) (int, error) {
	return found(ctx, c, "/vpcs", "VPC", label, n.vpcs, func(v api.VPC) (string, int) { return v.Label, v.ID })
}

// subnet returns the ID of a subnet. It remembers subnets by their labels alone: if subnets of two VPCs have the same label, it returns the
// ID of the subnet that it found first.
func (n networks) subnet(ctx context.Context, c *linodehttp.Client, vpc int, label string) (int, error) {
	return found(ctx, c, fmt.Sprintf("/vpcs/%d/subnets", vpc), "subnet", label, n.subnets,
		func(s api.VPCSubnet) (string, int) { return s.Label, s.ID })
}

// found returns the ID of the object with a label. It lists the objects only if it does not know the label.
func found[T any](ctx context.Context, c *linodehttp.Client, path, what, label string, known map[string]int, of func(T) (string, int)) (int,
	error) {
	if id, ok := known[label]; ok {
		return id, nil
	}
	listed, err := linodehttp.List[T](ctx, c, path, "")
	if err != nil {
		return 0, err
	}
	for _, one := range listed {
		if has, id := of(one); has == label {
			known[label] = id
			return id, nil
		}
	}
	return 0, fmt.Errorf("failed to find %s: %q", what, label)
}
