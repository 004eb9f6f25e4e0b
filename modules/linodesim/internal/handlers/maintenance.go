package handlers

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listHostMaintenance() (page[api.HostMaintenance], error) {
	concerned := slices.DeleteFunc(r.Seen.Instances(), func(i world.Instance) bool { return i.Maintenance == nil })
	return list(r, concerned, maintenance)
}

func maintenance(i world.Instance) api.HostMaintenance {
	when := api.Time{Time: i.Maintenance.When}
	return api.HostMaintenance{
		Entity: api.HostMaintenanceEntity{ID: i.ID, Label: i.Label, Type: "linode", URL: fmt.Sprintf("/v4/linode/instances/%d", i.ID)},
		Type:   i.Maintenance.Type, Status: i.Maintenance.Status, Reason: i.Maintenance.Reason,
		When: &when,
	}
}
