package simulatedccm

import (
	"context"
	"fmt"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// networks remembers the IDs of VPCs and subnets by their labels, without an end (cloud/linode/services/vpc.go). It is not safe for
// concurrent use.
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
	if id, ok := n.vpcs[label]; ok {
		return id, nil
	}
	listed, err := linodehttp.List[api.VPC](ctx, c, "/vpcs", "")
	if err != nil {
		return 0, err
	}
	for _, vpc := range listed {
		if vpc.Label == label {
			n.vpcs[label] = vpc.ID
			return vpc.ID, nil
		}
	}
	return 0, fmt.Errorf("failed to find VPC: %q", label)
}

func (n networks) subnet(ctx context.Context, c *linodehttp.Client, vpc int, label string) (int, error) {
	if id, ok := n.subnets[label]; ok { // by the label alone: VPCs whose subnets have one label are not told apart
		return id, nil
	}
	listed, err := linodehttp.List[api.VPCSubnet](ctx, c, fmt.Sprintf("/vpcs/%d/subnets", vpc), "")
	if err != nil {
		return 0, err
	}
	for _, subnet := range listed {
		if subnet.Label == label {
			n.subnets[label] = subnet.ID
			return subnet.ID, nil
		}
	}
	return 0, fmt.Errorf("failed to find subnet: %q", label)
}
