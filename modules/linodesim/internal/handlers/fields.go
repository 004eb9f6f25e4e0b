package handlers

import (
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

func instanceField(i world.Instance, name string) any {
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
		return "legacy_config"
	case "group", "placement_group.label", "placement_group.placement_group_type":
		return "" // no Linode here is in a group of either kind
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
