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

// Attachments reads what Linodes are attached to, from memory for a while; *nodeclass.Lookup does. read is the time of the request. Nil
// Linodes without an error are not known, an empty list means no Linodes.
type Attachments interface {
	Connected(ctx context.Context, vpcID int) (bySubnet map[int][]int, read time.Time, err error)
}

// doubts are Linodes that one reading has not shown where they should be. A second one must not either: a reading may lag.
type doubts struct{ first *cache.Expiring }

// doubtLasts is far longer than the memory of an answer.
const doubtLasts = time.Hour

// confirmed notes whether a reading lacks the Linode, and returns whether two do.
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

// detached returns whether a Linode cannot be put behind the class's firewall, or was taken out of its VPC. A Linode that was not read
// since its node registered counts as attached, because everything is attached before the registration.
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

// ProtectedInterfaces is how many interfaces of a Linode of the class a firewall protects, if it has the newer ones.
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
