package instance

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Attachments reads which Linodes are in the subnets of a VPC. *nodeclass.Lookup implements it, and remembers an answer for a while. read
// is the time of the request. A nil map without an error means that the Linodes are not known; an empty map means that there are none.
type Attachments interface {
	Connected(ctx context.Context, vpcID int) (bySubnet map[int][]int, read time.Time, err error)
}

// doubts remembers Linodes that one reading did not show in their VPC. A Linode counts as taken out only if a second reading does not
// show it either, because one reading may lag.
type doubts struct{ first *cache.Expiring }

// doubtLasts is the time for which a doubt is remembered. It is far longer than the Attachments remember an answer.
const doubtLasts = time.Hour

// confirmed records whether a reading lacks the Linode, and returns true if two different readings lack it.
func (d doubts) confirmed(instanceID int, lacks bool, read time.Time) bool {
	if !lacks {
		d.first.Delete(instanceID)
		return false
	}
	first, known := d.first.Get(instanceID)
	if !known {
		d.first.Set(instanceID, read, doubtLasts)
	}
	return known && !first.(time.Time).Equal(read) //nolint:forcetypeassert // nothing else is in it
}

// detached returns the drift reason of a Linode that cannot be put behind the class's firewall, or that a user took out of its VPC.
// Without a reading since the node's registration, a Linode counts as attached, because everything is attached before the registration.
func (b *Backend) detached(ctx context.Context, instanceID int, l cloudprovider.Launch) core.DriftReason {
	spec := l.NodeClass.Spec
	if b.cfg.FirewallRefused != nil && spec.FirewallID != nil && b.cfg.FirewallRefused(l.NodeClaim.UID, *spec.FirewallID) {
		return cloudprovider.DriftFirewall
	}
	registered := l.NodeClaim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	if b.cfg.Attachments == nil || spec.VPCID == nil || !registered.IsTrue() {
		return ""
	}
	bySubnet, read, err := b.cfg.Attachments.Connected(ctx, *spec.VPCID)
	if err == nil && bySubnet != nil && read.After(registered.LastTransitionTime.Time) &&
		b.doubts.confirmed(instanceID, !inSubnets(spec, bySubnet, instanceID), read) {
		return DriftNetwork
	}
	return ""
}

// ProtectedInterfaces returns how many interfaces of a Linode of the class a firewall protects, if the Linode has Linode interfaces.
func ProtectedInterfaces(spec v1alpha1.LinodeNodeClassSpec) int {
	return max(1, len(network(spec, "").Interfaces))
}

// inSubnets returns whether a Linode is in every subnet in which the class has an interface.
func inSubnets(spec v1alpha1.LinodeNodeClassSpec, bySubnet map[int][]int, instanceID int) bool {
	for _, i := range network(spec, "").Interfaces {
		if i.VPC != nil && !slices.Contains(bySubnet[i.VPC.SubnetID], instanceID) {
			return false
		}
	}
	return true
}
