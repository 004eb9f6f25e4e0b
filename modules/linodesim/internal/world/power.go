package world

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// BootInstance starts a Linode that is off. If the request names no configuration, the Linode boots with its last one.
func (w Linodes) BootInstance(linodeID int, b *api.InstanceBoot) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	config := deref(deref(b).ConfigID)
	switch {
	case i.Status == account.StatusRunning:
		return Refuse("", "Linode is already running.")
	case i.Status != account.StatusOffline:
		return busy()
	case config != 0 && w.Configs().configAt(linodeID, config) < 0:
		return Refuse("config_id", "config_id is not valid")
	case i.ClusterID == 0 && len(w.assets.configs[linodeID]) == 0:
		return Refuse("config_id", "The Linode has no configuration to boot.")
	}
	w.setStatus(w.Actor, i, account.StatusBooting)
	took := w.delays.boot(w.draws.side) / 2
	booted := w.begin(w.User, "linode_boot", onLinode(i), w.Configs().entity(linodeID, config), 0, took)
	w.after(took, func() {
		if i.Status == account.StatusBooting {
			w.run(i, booted)
		}
	})
	return nil
}

// ShutdownInstance stops a Linode that runs. LKE does nothing about a worker
// that is off.
func (w Linodes) ShutdownInstance(linodeID int) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	switch i.Status {
	case account.StatusRunning:
		if w.settling(i) {
			return busy()
		}
	case account.StatusOffline:
		return Refuse("", "Linode is already powered off.")
	default:
		return busy()
	}
	w.setStatus(w.Actor, i, account.StatusShuttingDown)
	w.Feed().publishLinode(account.LinodeStops, i)
	took := w.delays.Gone.draw(w.draws.side)
	down := w.begin(w.User, "linode_shutdown", onLinode(i), nil, 0, took)
	w.after(took, func() {
		if i.Status == account.StatusShuttingDown {
			w.finish(down)
			w.setStatus(account.LKE, i, account.StatusOffline)
		}
	})
	return nil
}

// settling reports whether a Linode began to run a moment ago: jobs are refused then (FACTS 18, third table, 23).
func (w Linodes) settling(i *Instance) bool {
	return i.Status == account.StatusRunning && w.now.Before(i.busyUntil)
}

// run sets a Linode to running, ends the event of its boot and tells the subscribers, which then start its image.
func (w Linodes) run(i *Instance, booted int) {
	w.finish(booted)
	w.setStatus(account.LKE, i, account.StatusRunning)
	i.busyUntil = w.now.Add(w.delays.Settle.draw(w.draws.side))
	w.Feed().publishBoot(i)
}

// RebootInstance restarts a Linode that runs.
func (w Linodes) RebootInstance(linodeID int, b *api.InstanceBoot) error {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return err
	}
	config := deref(deref(b).ConfigID)
	switch {
	case i.Status == account.StatusOffline:
		return Refuse("", "Linode is not running.")
	case i.Status != account.StatusRunning || w.settling(i):
		return busy()
	case config != 0 && w.Configs().configAt(linodeID, config) < 0:
		return Refuse("config_id", "config_id is not valid")
	}
	w.setStatus(w.Actor, i, account.StatusRebooting)
	w.Feed().publishLinode(account.LinodeStops, i)
	took := w.delays.boot(w.draws.side) / 2
	job := w.begin(w.User, "linode_reboot", onLinode(i), w.Configs().entity(linodeID, config), 0, took)
	w.after(took, func() {
		if i.Status == account.StatusRebooting {
			w.run(i, job)
		}
	})
	return nil
}
