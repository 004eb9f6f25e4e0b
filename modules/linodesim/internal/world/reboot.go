package world

// StatusRebooting is the status of a Linode from its reboot until it runs again.
const StatusRebooting = "rebooting"

// RebootInstance starts a Linode that runs again. Its image boots anew, so that a
// listener to [LinodeBoots] gives its node another boot ID.
func (w Linodes) RebootInstance(linodeID int) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	if i.Status != StatusRunning {
		return busy()
	}
	w.setStatus(w.Actor, i, StatusRebooting)
	w.Feed().publishLinode(LinodeStops, i)
	took := w.delays.Join.draw(w.draws.side) / 2
	booted := w.begin(w.User, "linode_reboot", onLinode(i), nil, 0, took)
	w.after(took, func() {
		if i.Status == StatusRebooting {
			w.run(i, booted)
		}
	})
	return nil
}
