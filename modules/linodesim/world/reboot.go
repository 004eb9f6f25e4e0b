package world

// StatusRebooting is the status of a Linode from its reboot until it runs again.
const StatusRebooting = "rebooting"

// RebootInstance starts a Linode that runs again. Its image boots anew, so that a
// listener to [LinodeBoots] gives its node another boot ID.
func (w *Moment) RebootInstance(linodeID int) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	if i.Status != StatusRunning {
		return busy()
	}
	w.setStatus(w.Actor, i, StatusRebooting)
	w.publishLinode(LinodeStops, i)
	w.after(w.profile.Join.draw(w.draws.side)/2, func() {
		if i.Status == StatusRebooting {
			w.run(i)
		}
	})
	return nil
}
