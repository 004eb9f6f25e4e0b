package world

import (
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// Metadata holds the answers of the Metadata service to a Linode.
type Metadata struct {
	Instance api.Instance
	Image    string // its label
	UserData string // base64, as it was sent; "" = none
	SSHKeys  map[string][]string
	Networks []MetadataInterface
}

// MetadataInterface is an interface as the Metadata service shows it.
type MetadataInterface struct {
	Label       *string `json:"label"`
	Purpose     string  `json:"purpose"`
	IPAMAddress *string `json:"ipam_address"`
}

// Metadata returns the answers to a Linode that runs: only then the Linode can call the service.
func (w Linodes) Metadata(linodeID int) (Metadata, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil || i.Status != account.StatusRunning {
		return Metadata{}, NotFound()
	}
	out := Metadata{Instance: w.instance(i), Image: w.Images().imageLabel(i.Image), UserData: i.userData, SSHKeys: maps.Clone(i.keys)}
	for _, f := range w.Interfaces().nics(i) {
		out.Networks = append(out.Networks, MetadataInterface{optional(f.label), f.purpose, optional(f.ipam)})
	}
	if len(out.Networks) == 1 && out.Networks[0].Purpose == "public" { // documented: a public interface alone is not shown
		out.Networks = nil
	}
	return out, nil
}

// nics are the interfaces of a Linode of either generation.
func (w Interfaces) nics(i *Instance) []nic {
	if configs := w.assets.configs[i.ID]; i.generation() != linodeInterfaces && len(configs) > 0 {
		return configs[0].nics
	}
	return w.assets.interfaces[i.ID]
}

// SetConsole stores the output of a Linode's last boot, and the reason why the boot failed, if it failed.
func (w Linodes) SetConsole(linodeID int, text, fault string) {
	if i, ok := w.instances[linodeID]; ok {
		i.Console, i.BootFault = text, fault
	}
}

// readKeys returns the keys for root. Keys of the account's users are not modelled: a made-up key has the user's name.
func readKeys(b *api.InstanceCreate) map[string][]string {
	keys := slices.Clone(deref(b.AuthorizedKeys))
	for _, user := range deref(b.AuthorizedUsers) {
		keys = append(keys, "ssh-ed25519 "+user)
	}
	if len(keys) == 0 {
		return nil
	}
	return map[string][]string{"root": keys}
}
