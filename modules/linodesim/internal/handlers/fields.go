package handlers

import (
	"cmp"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// The functions of this file give the values that an X-Filter may compare.
// Which names get here is decided by the API's description; one that a
// function does not know is nil there, and a test finds it.

func clusterField(c world.Cluster, name string) any {
	switch name {
	case "label":
		return c.Label
	case "region":
		return c.Region
	case "k8s_version":
		return c.K8sVersion
	case "tier":
		return c.Tier
	case "tags":
		return strings(c.Tags)
	}
	return nil
}

func poolField(p world.Pool, name string) any {
	switch name {
	case "id":
		return p.ID
	case "tags":
		return strings(p.Tags)
	}
	return nil
}

// Versions have no filterable field.
func versionField(string, string) any { return nil }

// instanceField needs the request for what a Linode's placement group is.
func instanceField(r Request) func(i world.Instance, name string) any {
	return func(i world.Instance, name string) any {
		switch name {
		case "placement_group.label", "placement_group.placement_group_type":
			g, err := r.group(i)
			switch {
			case err != nil:
				return ""
			case name == "placement_group.label":
				return g.Label
			}
			return g.Type
		}
		return plainInstanceField(i, name)
	}
}

func plainInstanceField(i world.Instance, name string) any {
	switch name {
	case "id":
		return i.ID
	case "label":
		return i.Label
	case "region":
		return i.Region
	case "tags":
		return strings(i.Tags)
	case "image":
		return i.Image
	case "ipv4":
		return i.IPv4()
	case "interface_generation":
		return cmp.Or(i.Generation, "legacy_config")
	case "group":
		return i.Group
	}
	return nil
}

func typeField(t catalog.Type, name string) any {
	switch name {
	case "class":
		return t.Class
	case "disk":
		return t.DiskMB
	case "gpus":
		return t.GPUs
	case "label":
		return t.Label
	case "memory":
		return t.MemoryMB
	case "network_out":
		return t.NetworkOutMbits
	case "transfer":
		return t.TransferGB
	case "vcpus":
		return t.VCPUs
	}
	return nil
}

func regionField(r catalog.Region, name string) any {
	switch name {
	case "country":
		return r.Country
	case "site_type":
		return r.SiteType
	}
	return nil
}

func availabilityField(a catalog.Availability, name string) any {
	switch name {
	case "region":
		return a.Region
	case "plan":
		return a.Plan
	case "available":
		return a.Available
	}
	return nil
}

func firewallField(f world.Firewall, name string) any {
	switch name {
	case "id":
		return f.ID
	case "label":
		return f.Label
	case "tags":
		return strings(f.Tags)
	case "created":
		return api.Time{Time: f.Created}.String()
	case "updated":
		return api.Time{Time: f.Updated}.String()
	}
	return nil
}

func imageField(i world.Image, name string) any {
	switch name {
	case "label":
		return i.Label
	case "type":
		return "manual"
	case "status":
		return i.Status
	case "size":
		return i.SizeMB
	case "is_public":
		return i.Public
	case "is_shared":
		return false
	case "deprecated":
		return i.Deprecated
	case "vendor":
		return i.Vendor
	case "tags":
		return strings(i.Tags)
	}
	return nil
}

func groupField(g world.PlacementGroup, name string) any {
	switch name {
	case "id":
		return g.ID
	case "label":
		return g.Label
	case "region":
		return g.Region
	case "placement_group_type":
		return g.Type
	}
	return nil
}

func vpcField(v world.VPC, name string) any {
	switch name {
	case "id":
		return v.ID
	case "label":
		return v.Label
	case "region":
		return v.Region
	case "created":
		return api.Time{Time: v.Created}.String()
	}
	return nil
}

func subnetField(s world.Subnet, name string) any {
	switch name {
	case "id":
		return s.ID
	case "label":
		return s.Label
	case "created":
		return api.Time{Time: s.Created}.String()
	}
	return nil
}

func controlPlaneField(c catalog.ControlPlane, name string) any {
	switch name {
	case "label":
		return c.Label
	case "price.hourly":
		return c.Price.Hourly
	case "price.monthly":
		return c.Price.Monthly
	}
	return nil
}
