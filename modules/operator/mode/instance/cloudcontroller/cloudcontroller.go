// Package cloudcontroller finds out whether the Linodes of a class fit the flags of Linode's cloud controller manager.
//
// Reader.Flags reads the flags of the first DaemonSet, in any namespace, with a container whose image name contains
// linode-cloud-controller-manager. It does not find a manager that runs in another way, and does not see flags from the environment.
// Without a manager, Flags returns nil and no error, and only the last row of the table is checked.
//
// Flags.Misfit compares a class with the flags and returns the first row that applies:
//
//	--linode-tag-filter without such a tag on the Linodes       fatal: TagFilterMismatch
//	--vpc-names or --vpc-ids without the class's VPC            fatal: VPCMismatch
//	--subnet-names or --subnet-ids without the class's subnet   fatal: VPCMismatch
//	a VPC, and none in the flags, without private address       VPCMismatch
//	VPC backends disabled, and Linodes without private address  VPCMismatch
//	neither a VPC nor a private address                         NoPrivateAddress
//
// After a fatal misfit the class is not Ready, because the manager would never initialize its nodes. After any other misfit nodes are
// made, and the class has a warning: NodeBalancers do not reach these nodes. A filter with the word karpenter always fits, because every
// Linode of the operator has such tags. If the flags name VPCs but no subnets, the manager uses the subnet named default.
//
// The caller is the check of BootstrapReady in package instance. The package makes no request to the Linode API and never writes.
//
// The meaning of the flags is from linode/linode-cloud-controller-manager: main.go (names), cloud/linode/services/instances.go and vpc.go
// (which Linodes exist for it), cloud/linode/loadbalancers.go (which address a NodeBalancer gets).
package cloudcontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// image is a part of the names of the manager's images, in every registry.
const image = "linode-cloud-controller-manager"

// Flags are the manager's flags that decide which Linodes it finds.
type Flags struct {
	VPCNames []string
	VPCIDs   []int
	// SubnetNames and SubnetIDs limit these VPCs to some of their subnets.
	SubnetNames []string
	SubnetIDs   []int
	TagFilter   string
	// PrivateBackends: NodeBalancers reach nodes by private addresses, also addresses in a VPC.
	PrivateBackends bool
}

// Reader reads the flags of a cluster's manager.
type Reader struct{ kube client.Reader }

// NewReader returns a Reader. kube may be a cache.
func NewReader(kube client.Reader) *Reader { return &Reader{kube} }

// Flags returns the manager's flags, nil if no manager was found.
func (r *Reader) Flags(ctx context.Context) (*Flags, error) {
	list := &appsv1.DaemonSetList{}
	if err := r.kube.List(ctx, list); err != nil {
		return nil, fmt.Errorf("looking for the cloud controller manager: %w", err)
	}
	for _, set := range list.Items {
		if flags := Of(set.Spec.Template.Spec); flags != nil {
			return flags, nil
		}
	}
	return nil, nil
}

// Of returns the flags of the manager's container in a pod, nil if the pod has no such container.
func Of(pod corev1.PodSpec) *Flags {
	at := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, image) })
	if at < 0 {
		return nil
	}
	flags := &Flags{}
	words := slices.Concat(pod.Containers[at].Command, pod.Containers[at].Args)
	for i, word := range words {
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !given && i+1 < len(words) {
			value = words[i+1]
		}
		if strings.HasPrefix(word, "-") {
			flags.set(name, value)
		}
	}
	return flags
}

func (f *Flags) set(name, value string) {
	switch name {
	case "vpc-names":
		f.VPCNames = append(f.VPCNames, list(value)...)
	case "vpc-ids":
		f.VPCIDs = append(f.VPCIDs, ids(value)...)
	case "subnet-names":
		f.SubnetNames = append(f.SubnetNames, list(value)...)
	case "subnet-ids":
		f.SubnetIDs = append(f.SubnetIDs, ids(value)...)
	case "linode-tag-filter":
		f.TagFilter = value
	case "disable-nodebalancer-vpc-backends":
		on, err := strconv.ParseBool(value)
		f.PrivateBackends = on || err != nil // without a value it is on, and value is the next word
	}
}

func ids(text string) []int {
	var all []int
	for _, part := range list(text) {
		if id, err := strconv.Atoi(part); err == nil {
			all = append(all, id)
		}
	}
	return all
}

func list(text string) []string {
	var all []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// Linodes are the Linodes of one class, as the manager sees them.
type Linodes struct {
	// VPC is the ID of their VPC, 0 for none, and VPCLabel its label, "" if it is not known.
	VPC      int
	VPCLabel string
	// Subnets maps the IDs of their subnets in the VPC to the subnets' labels, "" for an unknown label.
	Subnets map[int]string
	// Private: they have an address in 192.168.128.0/17.
	Private bool
	// Tags are the tags that all of them have.
	Tags []string
}

// Misfit is a part of a class that does not fit the manager.
type Misfit struct {
	Reason, Text string
	// Fatal: the manager does not find the Linodes. It never initializes their nodes, and deletes them once they are not ready.
	Fatal bool
}

// Misfit returns the gravest misfit, nil for none. f is nil for a manager that was not found.
func (f *Flags) Misfit(l Linodes) *Misfit {
	switch {
	case f != nil && f.filteredOut(l):
		return &Misfit{v1alpha1.ReasonTagFilterMismatch, fmt.Sprintf("the cloud controller manager finds only Linodes with a tag that contains "+
			"%q (--linode-tag-filter), and none of %q does; nodes would never be initialized. Add such a tag to spec.tags, or to the chart's "+
			"settings.instance.tags for all classes", f.TagFilter, l.Tags), true}
	case f != nil && f.outside(l):
		return &Misfit{v1alpha1.ReasonVPCMismatch, fmt.Sprintf("the cloud controller manager finds only Linodes in the VPCs %s (--vpc-names, "+
			"--vpc-ids), and the class's are in %s; nodes would never be initialized. Set spec.vpcID and spec.subnetID to one of them, or add "+
			"the class's VPC to the flag", f.vpcs(), l.vpc()), true}
	case f != nil && f.outsideSubnets(l):
		return &Misfit{v1alpha1.ReasonVPCMismatch, fmt.Sprintf("the cloud controller manager finds only Linodes in the subnets %s of its VPCs "+
			"(--subnet-names, whose default is %q, or --subnet-ids), and the class's are in %s of %s; nodes would never be initialized. Set "+
			"spec.subnetID to one of them, or add the class's subnet to the flag", f.subnets(), defaultSubnet, l.subnets(), l.vpc()), true}
	case l.VPC != 0 && f != nil && !f.limited() && !l.Private:
		return &Misfit{v1alpha1.ReasonVPCMismatch, fmt.Sprintf("the class's Linodes are in %s, and the cloud controller manager was started "+
			"without --vpc-names: NodeBalancers cannot reach them. Add the VPC's label to that flag, or set spec.privateIP to true", l.vpc()),
			false}
	case l.VPC != 0 && f != nil && f.PrivateBackends && !l.Private:
		return &Misfit{v1alpha1.ReasonVPCMismatch, fmt.Sprintf("the cloud controller manager was started with "+
			"--disable-nodebalancer-vpc-backends: NodeBalancers reach nodes by private addresses, and the class's Linodes, in %s, have none. "+
			"Set spec.privateIP to true, or remove the flag", l.vpc()), false}
	case l.VPC == 0 && !l.Private:
		return &Misfit{v1alpha1.ReasonNoPrivateAddress, "the Linodes have neither a private address nor a VPC, so their nodes get no " +
			"InternalIP; one such node fails the NodeBalancers of all Services of type LoadBalancer. Set spec.privateIP to true (Linode " +
			"interfaces have no private address), or spec.vpcID and spec.subnetID, and the VPC in the cloud controller manager's " +
			"--vpc-names", false}
	}
	return nil
}

func (f *Flags) limited() bool { return len(f.VPCNames)+len(f.VPCIDs) > 0 }

// outside reports whether the flags name VPCs, but not the VPC of the Linodes. If the VPC's label is not known, it returns false.
func (f *Flags) outside(l Linodes) bool {
	switch {
	case !f.limited():
		return false
	case l.VPC == 0:
		return true
	}
	unknown := l.VPCLabel == "" && len(f.VPCNames) > 0
	return !unknown && !slices.Contains(f.VPCNames, l.VPCLabel) && !slices.Contains(f.VPCIDs, l.VPC)
}

// defaultSubnet is the label of the only subnet that the manager takes without a flag (main.go).
const defaultSubnet = "default"

// outsideSubnets reports whether the flags exclude all subnets of the Linodes. If the flags name subnets by labels, a subnet with an
// unknown label is not excluded.
func (f *Flags) outsideSubnets(l Linodes) bool {
	if !f.limited() || len(l.Subnets) == 0 {
		return false
	}
	for id, label := range l.Subnets {
		byID := len(f.SubnetIDs) > 0
		if byID && slices.Contains(f.SubnetIDs, id) || !byID && (label == "" || slices.Contains(f.subnetNames(), label)) {
			return false
		}
	}
	return true
}

func (f *Flags) subnetNames() []string {
	if len(f.SubnetNames) == 0 {
		return []string{defaultSubnet}
	}
	return f.SubnetNames
}

func (f *Flags) subnets() string {
	if len(f.SubnetIDs) == 0 {
		return strings.Join(f.subnetNames(), ", ")
	}
	return joined(f.SubnetIDs)
}

// subnets returns the IDs in order, with their labels.
func (l Linodes) subnets() string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(l.Subnets)) {
		all = append(all, fmt.Sprintf("subnet %d (%s)", id, l.Subnets[id]))
	}
	return strings.Join(all, ", ")
}

func joined(ids []int) string {
	var all []string
	for _, id := range ids {
		all = append(all, strconv.Itoa(id))
	}
	return strings.Join(all, ", ")
}

// filteredOut reports whether the tag filter excludes the Linodes: none of their tags contains it. Tags that differ from node to node are
// not among Linodes.Tags, so a filter that may match such a tag excludes nothing.
func (f *Flags) filteredOut(l Linodes) bool {
	return f.TagFilter != "" && !strings.Contains(f.TagFilter, "karpenter") &&
		!slices.ContainsFunc(l.Tags, func(tag string) bool { return strings.Contains(tag, f.TagFilter) })
}

func (f *Flags) vpcs() string {
	names := slices.Clone(f.VPCNames)
	for _, id := range f.VPCIDs {
		names = append(names, strconv.Itoa(id))
	}
	return strings.Join(names, ", ")
}

func (l Linodes) vpc() string {
	switch {
	case l.VPC == 0:
		return "no VPC"
	case l.VPCLabel == "":
		return fmt.Sprintf("VPC %d", l.VPC)
	}
	return fmt.Sprintf("VPC %d (%s)", l.VPC, l.VPCLabel)
}
