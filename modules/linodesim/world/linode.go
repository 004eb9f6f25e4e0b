package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// InstanceSpec is a Linode to be, one that is no worker of LKE.
type InstanceSpec struct {
	Label  string // "" = made up
	Type   string
	Region string // "" = us-ord
	Image  string // "" = none: it stays off
	Tags   []string
}

// AddInstance makes a Linode of the account's owner.
func (w *World) AddInstance(by Actor, spec InstanceSpec) (Instance, error) {
	defer w.lock()()
	if spec.Region == "" {
		spec.Region = "us-ord"
	}
	var bad reasons
	if _, ok := w.catalog.Type(spec.Type); !ok {
		bad.add("type", "type is not valid")
	}
	if _, ok := w.catalog.Region(spec.Region); !ok {
		bad.add("region", "region is not valid")
	}
	checkTags(&bad, spec.Tags)
	if spec.Label != "" {
		w.checkInstanceLabel(&bad, nil, spec.Label)
	}
	if err := bad.err(); err != nil {
		return Instance{}, err
	}
	if err := w.checkRoom(&cluster{Cluster: Cluster{Tier: catalog.Enterprise, Region: spec.Region}}, spec.Type, 1); err != nil {
		return Instance{}, err
	}
	return w.addInstance(by, spec).clone(), nil
}

func (w *World) addInstance(by Actor, spec InstanceSpec) *Instance {
	public, _, v6 := w.addresses()
	i := &Instance{
		ID: w.nextID(&w.seq.instance), Label: spec.Label, Type: spec.Type, Region: spec.Region, Image: spec.Image,
		Status: StatusProvisioning, Tags: nonNil(slices.Clone(spec.Tags)), HostUUID: w.hostUUID(), PublicIPv4: public, IPv6: v6,
		DiskEncryption: "enabled", WatchdogEnabled: true, Created: w.now, Updated: w.now,
	}
	if i.Label == "" {
		i.Label = fmt.Sprintf("linode%d", i.ID)
	}
	w.defaultSettings(i)
	w.instances[i.ID] = i
	w.record(by, Entry{Action: InstanceCreated, InstanceID: i.ID, After: i.Label})
	boot := w.profile.Join.draw(w.rng)
	if spec.Image == "" {
		w.after(boot/2, func() { w.setStatus(i, StatusOffline) })
		return i
	}
	w.after(boot/2, func() { w.setStatus(i, StatusBooting) })
	w.after(boot*4/5, func() { w.setStatus(i, StatusRunning) })
	return i
}
