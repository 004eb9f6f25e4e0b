package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// HashVersion is the version of the hash's definition. Raise it when the same spec gives another hash (another
// set of fields, another function); controllers then rewrite the annotations and replace no node.
//
// It is not of the plain form v1: the alpha provider writes the same annotations, with versions of that form and
// hashes of another definition. Were the versions equal, each of its nodes would count as drifted.
const HashVersion = "linode-v4"

// lkeFields are the fields an LKE node is made from. A pool fixes them for all its nodes. The other fields have
// no effect in lke mode, so a change of them must not replace nodes there.
//
// LKEK8sVersion is not among them: it has to equal the control plane's version, so with and without it nodes are
// the same. A node of another version than the control plane's is found by comparing its pool's.
type lkeFields struct {
	FirewallID     *int           `json:"firewallID,omitempty"`
	DiskEncryption DiskEncryption `json:"diskEncryption,omitempty"`
	Isolation      string         `json:"isolation,omitempty"`
}

// Hash returns a short text that changes exactly when a Linode made from the class before would be made
// differently now. Only fields that have an effect in the mode count. Tags do not count, since they are changed
// on the running Linode, nor in instance mode the firewall. Fields that are not set do not count either, so that a field added to the type
// later changes no hash; nor does the order of a list that is a set, or the name under which the size of swap is given.
func (in *LinodeNodeClass) Hash(mode Mode) string {
	if mode == ModeLKE {
		return hashOf(lkeFields{
			FirewallID: in.Spec.FirewallID, DiskEncryption: in.Spec.DiskEncryption, Isolation: in.Spec.Isolation.text(),
		})
	}
	spec := in.Spec.DeepCopy()
	spec.Tags, spec.FirewallID = nil, nil        // changed in place
	spec.LKEK8sVersion, spec.Isolation = "", nil // of lke mode
	spec.SwapSize, spec.SwapSizeAlpha = spec.Swap(), nil
	spec.ImageDriftPolicy = "" // what it asks for is compared with the instance
	if spec.ImageSelector != nil {
		spec.ImageSelector = nil
	} else if spec.Image == "" {
		spec.Image = DefaultImage
	}
	if len(spec.PlacementGroups) == 1 {
		spec.PlacementGroup, spec.PlacementGroups = &spec.PlacementGroups[0], nil
	}
	for _, set := range []*[]string{&spec.AuthorizedKeys, &spec.AuthorizedUsers} {
		slices.Sort(*set)
		*set = slices.Compact(*set)
	}
	for _, disk := range spec.disks() {
		disk.Size = *resource.NewQuantity(disk.Size.Value(), resource.BinarySI) // however it is written
	}
	return hashOf(spec)
}

// Swap is the size of the swap disk in MiB, under whichever of its two names it is given; nil when it is not.
func (in *LinodeNodeClassSpec) Swap() *int {
	if in.SwapSize != nil {
		return in.SwapSize
	}
	return in.SwapSizeAlpha
}

// disks are those that the spec sets.
func (in *LinodeNodeClassSpec) disks() []*Disk {
	all := []*Disk{in.OSDisk}
	if data := in.DataDisks; data != nil {
		all = append(all, data.SDB, data.SDC, data.SDD, data.SDE, data.SDF, data.SDG, data.SDH)
	}
	return slices.DeleteFunc(all, func(disk *Disk) bool { return disk == nil })
}

// hashOf is over the value's JSON with sorted keys and without what is not set. It panics on a value that has no JSON; the values are
// of this package's types, which all have.
func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	if text, err = json.Marshal(pruned(content)); err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// pruned takes out objects and lists that are empty: a field with nothing in it is not set.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner = pruned(inner); inner == nil {
				delete(v, key)
			} else {
				v[key] = inner
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return value
}

// text is the same for what means the same; "" without isolation.
func (in *Isolation) text() string {
	if in == nil {
		return ""
	}
	text := ""
	for _, wanted := range []*bool{in.PublicIPv4, in.PublicIPv6} {
		if wanted != nil {
			text += strconv.FormatBool(*wanted)
		}
		text += ","
	}
	return text
}
