package world

import (
	"fmt"
	"slices"
	"time"
)

// LinodeInterface is an interface of the generation linode.
type LinodeInterface struct {
	ConfigInterface
	LinodeID int
	MAC      string
	Created  time.Time
}

// Interfaces lists a Linode's interfaces; none for one of legacy_config.
func (w *World) Interfaces(linode int) ([]LinodeInterface, error) {
	defer w.lock()()
	if w.instances[linode] == nil {
		return nil, notFound()
	}
	return slices.Clone(w.assets.interfaces[linode]), nil
}

// addInterfaces makes those asked for, or a public one.
func (w *World) addInterfaces(i *Instance, list []ConfigInterface) {
	if len(list) == 0 {
		list = []ConfigInterface{{Purpose: "public", Primary: true}}
	}
	for _, f := range list {
		w.connect(i, &f)
		w.assets.interfaces[i.ID] = append(w.assets.interfaces[i.ID], LinodeInterface{
			ConfigInterface: f, LinodeID: i.ID, MAC: fmt.Sprintf("00:00:5e:00:%02x:%02x", f.ID>>8&0xff, f.ID&0xff), Created: w.now,
		})
	}
}

// Boot starts a Linode that is off. config 0 means the last or only one.
func (w *World) Boot(by Actor, linode, config int) error {
	defer w.lock()()
	i, ok := w.instances[linode]
	if !ok {
		return notFound()
	}
	switch {
	case i.Status == StatusRunning:
		return refuse("", "Linode is already running.")
	case i.Status != StatusOffline:
		return busy()
	case config != 0 && w.configAt(linode, config) < 0:
		return refuse("config_id", "config_id is not valid")
	case i.ClusterID == 0 && len(w.assets.configs[linode]) == 0:
		return refuse("config_id", "The Linode has no configuration to boot.")
	}
	w.status(by, i, StatusBooting)
	w.after(w.profile.Join.draw(w.side)/2, func() {
		if i.Status == StatusBooting {
			w.setStatus(i, StatusRunning)
		}
	})
	return nil
}

// Shutdown stops a Linode that runs. LKE does nothing about a worker that is
// off.
func (w *World) Shutdown(by Actor, linode int) error {
	defer w.lock()()
	i, ok := w.instances[linode]
	if !ok {
		return notFound()
	}
	switch i.Status {
	case StatusRunning:
	case StatusOffline:
		return refuse("", "Linode is already powered off.")
	default:
		return busy()
	}
	w.status(by, i, StatusShuttingDown)
	w.after(w.profile.Gone.draw(w.side), func() {
		if i.Status == StatusShuttingDown {
			w.setStatus(i, StatusOffline)
		}
	})
	return nil
}
