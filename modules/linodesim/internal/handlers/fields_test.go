package handlers

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// Every field that the description calls filterable has a value here.
func TestEveryFilterableFieldIsKnown(t *testing.T) {
	api, err := operation.Load()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]func(field string) any{
		"listLKEClusters":     func(f string) any { return clusterField(world.Cluster{}, f) },
		"listLKENodePools":    func(f string) any { return poolField(world.Pool{}, f) },
		"listLKETierVersions": func(f string) any { return versionField("", f) },
		"listInstances":       func(f string) any { return instanceField(Request{})(world.Instance{}, f) },
		"listImages":          func(f string) any { return imageField(world.Image{}, f) },
		"listPlacementGroups": func(f string) any { return groupField(world.PlacementGroup{}, f) },
		"listVPCs":            func(f string) any { return vpcField(world.VPC{Created: time.Unix(0, 0)}, f) },
		"listVPCSubnets":      func(f string) any { return subnetField(world.Subnet{Created: time.Unix(0, 0)}, f) },
		"listLKETypes":        func(f string) any { return controlPlaneField(catalog.ControlPlane{}, f) },
		// Collections without a filterable field.
		"listLKEVersions":            func(string) any { return nil },
		"listLKEClusterAPIEndpoints": func(string) any { return nil },
		"listInstanceDisks":          func(string) any { return nil },
		"listInstanceConfigs":        func(string) any { return nil },
		"listTags":                   func(string) any { return nil },
		"listTaggedObjects":          func(string) any { return nil },
		"listAccountAvailability":    func(string) any { return nil },
		"listTypes":                  func(f string) any { return typeField(catalog.Type{}, f) },
		"listRegions":                func(f string) any { return regionField(catalog.Region{}, f) },
		"listRegionsAvailability":    func(f string) any { return availabilityField(catalog.Availability{}, f) },
		"listFirewalls":              func(f string) any { return firewallField(world.Firewall{Created: time.Unix(0, 0)}, f) },
	}
	for _, op := range api.Operations {
		if !op.Paginated {
			continue
		}
		get := values[op.ID]
		if get == nil {
			t.Errorf("%s: a collection without a function for its fields", op.ID)
			continue
		}
		for _, field := range op.FilterableFields() {
			if get(field) == nil {
				t.Errorf("%s: the description calls %s filterable, and there is no value for it", op.ID, field)
			}
		}
	}
}
