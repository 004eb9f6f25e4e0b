package nodeclass

import (
	"context"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
)

// firewall is the API's answer about a firewall, with the entities behind it.
type firewall struct {
	status.Firewall
	entities []api.FirewallEntity // never nil
	read     time.Time
}

// vpc is the API's answer about a VPC, with the Linodes in each subnet.
type vpc struct {
	status.VPC
	linodes map[int][]int
	read    time.Time
}

func readFirewall(ctx context.Context, client *linode.Client, id int) (*firewall, error) {
	read := time.Now()
	found, err := client.GetFirewall(ctx, id)
	if err != nil {
		return nil, err
	}
	return &firewall{status.Firewall{Label: found.Label, Status: string(found.Status)}, append([]api.FirewallEntity{}, found.Entities...),
		read}, nil
}

func readVPC(ctx context.Context, client *linode.Client, id int) (*vpc, error) {
	read := time.Now()
	found, err := client.GetVPC(ctx, id)
	if err != nil {
		return nil, err
	}
	answer := &vpc{status.VPC{Label: found.Label, Region: found.Region, SubnetLabels: map[int]string{}}, map[int][]int{}, read}
	for _, subnet := range found.Subnets {
		answer.Subnets = append(answer.Subnets, subnet.ID)
		answer.SubnetLabels[subnet.ID] = subnet.Label
		if networks, err := subnet.IPv6.Get(); err == nil && len(networks) > 0 { // null or absent for a subnet without IPv6
			answer.IPv6Subnets = append(answer.IPv6Subnets, subnet.ID)
		}
		for _, attached := range subnet.Linodes {
			answer.linodes[subnet.ID] = append(answer.linodes[subnet.ID], attached.ID)
		}
	}
	return answer, nil
}

// Protected returns the entities behind a firewall, and the time of the read. It returns nil if the firewall does not exist or the read
// failed.
func (l *Lookup) Protected(ctx context.Context, firewallID int) ([]api.FirewallEntity, time.Time, error) {
	found, err := l.firewalls(ctx, firewallID, l.age)
	if found == nil {
		return nil, time.Time{}, err
	}
	return found.entities, found.read, nil
}

// Connected returns the Linodes in each subnet of a VPC, and the time of the read. It returns nil if the VPC does not exist or the read
// failed.
func (l *Lookup) Connected(ctx context.Context, vpcID int) (map[int][]int, time.Time, error) {
	found, err := l.vpcs(ctx, vpcID, l.age)
	if found == nil {
		return nil, time.Time{}, err
	}
	return found.linodes, found.read, nil
}
