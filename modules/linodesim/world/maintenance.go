package world

import "time"

// HostMaintenance is work on the host of a Linode as the account's list shows
// it. Nothing happens to the Linode when its time comes.
type HostMaintenance struct {
	Type   string // such as reboot, cold_migration or live_migration
	Status string // pending, started or completed
	When   time.Time
	Reason string
}

// AnnounceMaintenance puts a Linode on the account's list of maintenance, in
// place of what is there about it; nil takes it off.
func (w *World) AnnounceMaintenance(instanceID int, m *HostMaintenance) error {
	defer w.lock()()
	i, ok := w.instances[instanceID]
	if !ok {
		return notFound()
	}
	if m != nil {
		copied := *m
		m = &copied
	}
	i.Maintenance, w.history.changed = m, true
	return nil
}
