package instance

import (
	"cmp"
	"context"
	"slices"

	"github.com/samber/lo"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// generation returns the kind of network interfaces. It reads the kind only if the form of the request depends on it, and uses the
// account's default without an answer.
func (b *Backend) generation(ctx context.Context, spec v1alpha1.LinodeNodeClassSpec) instances.Generation {
	fixed := spec.FirewallID == nil && spec.VPCID == nil && len(spec.Interfaces)+len(spec.IPv6OnPublic()) == 0 && spec.PrivateIP != nil
	if b.cfg.Generation == nil || fixed {
		return ""
	}
	generation, err := b.cfg.Generation(ctx)
	if err != nil {
		return ""
	}
	return generation
}

// LinodeInterfaces returns whether the account's new Linodes get Linode interfaces. It returns false if this is not known.
func (b *Backend) LinodeInterfaces(ctx context.Context) bool {
	if b.cfg.Generation == nil {
		return false
	}
	generation, err := b.cfg.Generation(ctx)
	return err == nil && generation == instances.GenerationLinode
}

// specOfClass returns the part of the Spec that all Linodes of a class share.
func (b *Backend) specOfClass(class *v1alpha1.LinodeNodeClass, how bootstrap.Type, generation instances.Generation) instances.Spec {
	from := class.Spec
	return instances.Spec{
		Region: b.cfg.Cluster.Region, Image: imageOf(class), Kernel: kernelOf(from, how),
		Access:  instances.Access{Keys: from.AuthorizedKeys, Users: from.AuthorizedUsers},
		Storage: storage(from), Network: network(from, generation),
		Backups: from.BackupsEnabled != nil && *from.BackupsEnabled, MaintenancePolicy: from.MaintenancePolicy,
	}
}

// imageOf returns the image in the class's status, or if the status has none, the image in its spec.
func imageOf(class *v1alpha1.LinodeNodeClass) string {
	switch {
	case len(class.Status.Images) > 0 &&
		(class.Spec.ImageSelector != nil || class.Spec.Image == "" || class.Spec.Image == class.Status.Images[0].ID):
		return class.Status.Images[0].ID
	case class.Spec.Image != "":
		return class.Spec.Image
	}
	return v1alpha1.DefaultImage
}

func kernelOf(spec v1alpha1.LinodeNodeClassSpec, how bootstrap.Type) string {
	if spec.Configuration != nil && spec.Configuration.Kernel != "" {
		return spec.Configuration.Kernel
	}
	return how.Kernel
}

// storage returns the class's disks. There is no swap unless the class sets its size, because a kubelet does not start with swap by
// default.
func storage(spec v1alpha1.LinodeNodeClassSpec) instances.Storage {
	s := instances.Storage{SwapMB: new(spec.SwapMB()), Encryption: string(spec.DiskEncryption)}
	if spec.OSDisk != nil {
		s.BootMB = spec.OSDisk.MB()
	}
	for device, disk := range spec.DataDisks.Devices() {
		s.Data = append(s.Data, instances.Disk{Label: cmp.Or(disk.Label, device), SizeMB: disk.MB(), Filesystem: disk.Filesystem})
	}
	return s
}

// network returns the class's interfaces.
func network(spec v1alpha1.LinodeNodeClassSpec, generation instances.Generation) instances.Network {
	n := instances.Network{Generation: generation, PrivateIP: private(spec, generation)}
	if n.PrivateIP {
		n.Generation = instances.GenerationLegacy // Linode interfaces have no private address
	}
	if spec.FirewallID != nil {
		n.FirewallID = *spec.FirewallID
	}
	var ranges []string // legacy interfaces have no ranges
	if n.Generation == instances.GenerationLinode {
		ranges = spec.IPv6OnPublic()
	}
	interfaces := interfacesOf(spec, len(ranges) > 0)
	if len(interfaces) == 0 {
		return n
	}
	if n.Generation == "" {
		n.Generation = instances.GenerationLegacy // which every account takes that does not refuse it
	}
	public := slices.ContainsFunc(interfaces, func(i v1alpha1.Interface) bool { return i.Type == v1alpha1.InterfacePublic })
	primary := primaryOf(interfaces)
	for at, from := range interfaces {
		i := instances.Interface{Primary: at == primary}
		if from.Type == v1alpha1.InterfaceVPC {
			i.VPC = inVPC(spec, from, !public)
		} else {
			i.Public, i.Ranges = true, ranges
		}
		n.Interfaces = append(n.Interfaces, i)
	}
	return n
}

// interfacesOf returns the interfaces that a request has to name. If the class sets a VPC and no interfaces, a Linode gets one interface
// in the VPC, with a public address by NAT: without NAT the Linode may not reach the Metadata service.
func interfacesOf(spec v1alpha1.LinodeNodeClassSpec, publicRanges bool) []v1alpha1.Interface {
	switch {
	case len(spec.Interfaces) > 0:
		return spec.Interfaces
	case spec.VPCID != nil:
		return []v1alpha1.Interface{{Type: v1alpha1.InterfaceVPC}}
	case publicRanges:
		return []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}}
	}
	return nil
}

func inVPC(spec v1alpha1.LinodeNodeClassSpec, from v1alpha1.Interface, nat bool) *instances.VPCInterface {
	vpc := &instances.VPCInterface{NAT: nat, IPv6: ipv6(spec.IPv6InVPC())}
	if from.NAT != nil {
		vpc.NAT = *from.NAT
	}
	if subnet := from.SubnetID; subnet != nil {
		vpc.SubnetID = *subnet
	} else if spec.SubnetID != nil {
		vpc.SubnetID = *spec.SubnetID
	}
	return vpc
}

func ipv6(from *v1alpha1.IPv6Options) *instances.VPCIPv6 {
	if from == nil {
		return nil
	}
	return &instances.VPCIPv6{SLAAC: from.EnableSLAAC != nil && *from.EnableSLAAC, Ranges: from.EnableRanges, Public: from.IsPublicIPv6}
}

// primaryOf returns the interface with the default route: the marked interface, else the first one in a VPC, else the first one.
func primaryOf(interfaces []v1alpha1.Interface) int {
	if at := slices.IndexFunc(interfaces, func(i v1alpha1.Interface) bool { return i.Primary != nil && *i.Primary }); at >= 0 {
		return at
	}
	return max(0, slices.IndexFunc(interfaces, func(i v1alpha1.Interface) bool { return i.Type == v1alpha1.InterfaceVPC }))
}

// private returns whether Linodes of a class get a private address. Linode interfaces have no private address. If the account's new
// Linodes get Linode interfaces, only a class that sets privateIP gets legacy interfaces (cluster-api-provider-linode,
// linodemachine_controller_helpers.go).
func private(spec v1alpha1.LinodeNodeClassSpec, generation instances.Generation) bool {
	return spec.WantsPrivateIP() && (spec.PrivateIP != nil || generation != instances.GenerationLinode)
}

// addressed returns the network that has the nodes' address in the cluster (InternalIP).
func addressed(spec v1alpha1.LinodeNodeClassSpec, generation instances.Generation) bootstrap.Network {
	switch {
	case spec.ConnectsVPC():
		return bootstrap.VPCNetwork
	case private(spec, generation):
		return bootstrap.PrivateNetwork
	}
	return bootstrap.AnyNetwork
}

// tags returns the tags of a NodeClaim's Linode, without the tags of the engine.
func (b *Backend) tags(l cloudprovider.Launch) []string {
	return lo.Uniq(slices.Concat(cloudprovider.OwnerTags(b.cfg.Cluster.Name, l.NodeClaim, l.NodeClass), b.cfg.Tags, l.NodeClass.Spec.Tags))
}
