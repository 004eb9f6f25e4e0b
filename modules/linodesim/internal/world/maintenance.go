package world

import (
	"fmt"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// AnnounceMaintenance puts a Linode on the account's list of maintenance, in
// place of its earlier entry; nil takes it off.
func (w Linodes) AnnounceMaintenance(instanceID int, m *account.HostMaintenance) error {
	i, err := lookup(w.instances, instanceID)
	if err != nil {
		return err
	}
	if m != nil {
		m = new(*m)
	}
	i.Maintenance, w.history.changed = m, true
	return nil
}

// ListHostMaintenance lists announced maintenance, by Linode.
func (w Account) ListHostMaintenance() ([]api.HostMaintenance, error) {
	var out []api.HostMaintenance
	for _, i := range sorted(w.instances) {
		if m := i.Maintenance; m != nil {
			out = append(out, api.HostMaintenance{
				Entity: api.HostMaintenanceEntity{ID: i.ID, Label: i.Label, Type: "linode", URL: fmt.Sprintf("/v4/linode/instances/%d", i.ID)},
				Type:   m.Type, Status: m.Status, Reason: m.Reason, When: &api.Time{Time: m.When},
			})
		}
	}
	return out, nil
}
