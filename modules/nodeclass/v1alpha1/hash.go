package v1alpha1

import (
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// HashVersion is the version of the hash's definition. Raise it when the same spec gives another hash (another
// set of fields, another function); controllers then rewrite the annotations and replace no node.
const HashVersion = "v1"

// lkeFields are the fields an LKE node is made from. A pool fixes them for all its nodes. The other fields have
// no effect in lke mode, so a change of them must not replace nodes there.
type lkeFields struct {
	FirewallID     *int
	LKEK8sVersion  string
	DiskEncryption DiskEncryption
}

// Hash returns a short text that changes exactly when a Linode made from the class before would be made
// differently now. Only fields that have an effect in the mode count. Tags do not count, since they are changed
// on the running Linode. Fields that are not set do not count either, so that a field added to the type later
// changes no hash, and the order of a list does not.
func (in *LinodeNodeClass) Hash(mode Mode) string {
	if mode == ModeLKE {
		return hashOf(lkeFields{
			FirewallID:     in.Spec.FirewallID,
			LKEK8sVersion:  in.Spec.LKEK8sVersion,
			DiskEncryption: in.Spec.DiskEncryption,
		})
	}
	return hashOf(in.Spec)
}

// hashOf panics on a value that cannot be hashed; the values are of this package's types, which all can be.
func hashOf(value any) string {
	hash, err := hashstructure.Hash(value, hashstructure.FormatV2, hashOptions())
	if err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	return strconv.FormatUint(hash, 10)
}

func hashOptions() *hashstructure.HashOptions {
	return &hashstructure.HashOptions{SlicesAsSets: true, IgnoreZeroValue: true, ZeroNil: true}
}

// Hash implements hashstructure.Hashable. The function walks over exported fields only, and a resource.Quantity has
// none, so a change of the size would go unnoticed.
func (in Disk) Hash() (uint64, error) {
	return hashstructure.Hash(struct {
		Bytes             int64
		Label, Filesystem string
	}{in.Size.Value(), in.Label, in.Filesystem}, hashstructure.FormatV2, hashOptions())
}
