package linodesim

import "github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"

// HostMaintenance is work on the host of a Linode.
type HostMaintenance = world.HostMaintenance

// AnnounceMaintenance lists maintenance of a Linode's host in the account; nil
// cancels it.
func (s *Sim) AnnounceMaintenance(instanceID int, m *HostMaintenance) error {
	return at(s, owner, func(w *world.Moment) error { return w.AnnounceMaintenance(instanceID, m) })
}
