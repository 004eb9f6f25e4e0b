package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// HashVersion is the version of the hash's definition. Raise it with a change of the code that gives the same spec another hash.
// Controllers then rewrite the annotations and replace no node.
//
// The version has the prefix linode-, because the alpha provider writes the same annotations with versions such as v1, and computes
// another hash. If the versions were equal, each node of the alpha provider would count as drifted.
const HashVersion = "linode-v5"

// Hash returns a short text. The text changes if, and only if, a new Linode of the class would differ from a Linode that the class made
// before the change. Only fields count that have an effect in the mode and are not changed on the running Linode; their struct tags list
// these fields. Unset fields do not count, so a field that is added to the type later changes no hash. The order of a list that is a set
// does not count, and neither does the name under which the size of swap is given.
func (in *LinodeNodeClass) Hash(mode Mode) string {
	counted := map[string]any{}
	for _, f := range in.Spec.normalized().fields() {
		if f.replaces(mode) && f.set() {
			counted[f.name] = f.value.Interface()
		}
	}
	if isolation, ok := counted["isolation"].(*Isolation); ok {
		counted["isolation"] = isolation.text()
	}
	if kubelet, ok := counted["kubelet"].(*KubeletConfiguration); ok && len(kubelet.ExtraConfig) > 0 {
		counted["kubelet.extraConfig"] = kubelet.extraText()
		kubelet.ExtraConfig = nil // of the copy
	}
	return hashOf(counted)
}

// extraText returns the further fields as text. An empty list or object in them counts, because it is not the kubelet's default.
func (in *KubeletConfiguration) extraText() string {
	text, err := json.Marshal(in.ExtraConfig)
	var content any
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err == nil {
		text, err = json.Marshal(content) // with keys in order, also of inner objects
	}
	if err != nil {
		panic("hashing a LinodeNodeClass: " + err.Error())
	}
	return string(text)
}

// normalized returns a copy. Specs with the same meaning have equal copies.
func (in *LinodeNodeClassSpec) normalized() *LinodeNodeClassSpec {
	spec := in.DeepCopy()
	spec.SwapSize, spec.SwapSizeAlpha = spec.Swap(), nil
	if spec.ImageSelector == nil && spec.Image == "" {
		spec.Image = DefaultImage
	}
	if spec.FollowsCluster() {
		spec.Bootstrap.KubernetesVersion = "" // a policy: the Linode is made in the same way
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
	return spec
}

// Swap returns the size of the swap disk in MiB, from swapSize or swap_size. It returns nil if neither is set.
func (in *LinodeNodeClassSpec) Swap() *int {
	if in.SwapSize != nil {
		return in.SwapSize
	}
	return in.SwapSizeAlpha
}

// SwapMB returns the size in MiB of the swap disk of a Linode in instance mode, 0 for none.
func (in *LinodeNodeClassSpec) SwapMB() int {
	if size := in.Swap(); size != nil {
		return *size
	}
	return 0
}

// disks returns the disks that the spec sets.
func (in *LinodeNodeClassSpec) disks() []*Disk {
	if in.OSDisk == nil {
		return in.DataDisks.All()
	}
	return append([]*Disk{in.OSDisk}, in.DataDisks.All()...)
}

// hashOf hashes the value's JSON with sorted keys and without fields that are not set. It panics on a value that cannot be written as
// JSON; all types of this package can.
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

// pruned removes empty objects and lists, because an empty field counts as not set.
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

// text returns equal texts for isolations with the same meaning.
func (in *Isolation) text() string {
	text := ""
	for _, wanted := range []*bool{in.PublicIPv4, in.PublicIPv6} {
		if wanted != nil {
			text += strconv.FormatBool(*wanted)
		}
		text += ","
	}
	return text
}
