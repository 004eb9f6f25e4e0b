package v1alpha1

import (
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// HashVersion is the version of the hash's definition. Raise it when the same spec gives another hash (another
// set of fields, another function); controllers then rewrite the annotations and replace no node.
//
// It is not of the plain form v1: the alpha provider writes the same annotations, with versions of that form and
// hashes of another definition. Were the versions equal, each of its nodes would count as drifted.
const HashVersion = "linode-v2"

// lkeFields are the fields an LKE node is made from. A pool fixes them for all its nodes. The other fields have
// no effect in lke mode, so a change of them must not replace nodes there.
//
// LKEK8sVersion is not among them: it has to equal the control plane's version, so with and without it nodes are
// the same. A node of another version than the control plane's is found by comparing its pool's.
type lkeFields struct {
	FirewallID     *int
	DiskEncryption DiskEncryption
	Isolation      string // both values: a pointer to false would count as not set
}

// Hash returns a short text that changes exactly when a Linode made from the class before would be made
// differently now. Only fields that have an effect in the mode count. Tags do not count, since they are changed
// on the running Linode. Fields that are not set do not count either, so that a field added to the type later
// changes no hash; nor does the order of a list that is a set, or the name under which the size of swap is given.
func (in *LinodeNodeClass) Hash(mode Mode) string {
	if mode == ModeLKE {
		return hashOf(lkeFields{
			FirewallID: in.Spec.FirewallID, DiskEncryption: in.Spec.DiskEncryption, Isolation: in.Spec.Isolation.text(),
		})
	}
	spec := in.Spec
	spec.LKEK8sVersion, spec.Isolation = "", nil // of lke mode
	spec.SwapSize = spec.Swap()
	if spec.Image == "" {
		spec.Image = DefaultImage
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

// hashOf panics on a value that cannot be hashed; the values are of this package's types, which all can be.
func hashOf(value any) string {
	hash, err := hashstructure.Hash(value, hashstructure.FormatV2, hashOptions())
	if err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	return strconv.FormatUint(hash, 10)
}

// Sets are marked in the type. To take every list for one would lose the order of DNS servers, and two ranges of
// the same length, which cancel each other out in a set.
func hashOptions() *hashstructure.HashOptions {
	return &hashstructure.HashOptions{IgnoreZeroValue: true, ZeroNil: true}
}

// Hash implements hashstructure.Hashable. The function walks over exported fields only, and a resource.Quantity has
// none, so a change of the size would go unnoticed.
func (in Disk) Hash() (uint64, error) {
	return hashstructure.Hash(struct {
		Bytes             int64
		Label, Filesystem string
	}{in.Size.Value(), in.Label, in.Filesystem}, hashstructure.FormatV2, hashOptions())
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
