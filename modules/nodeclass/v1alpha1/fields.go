package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
)

// The struct tags of the spec's fields. Only they list the effect of a field in each mode:
//
//	modes    the modes in which the field has an effect. Default: instance; for a nested field the modes of the field around it.
//	inplace  the modes in which a change of it keeps the nodes. Default: none.
const (
	tagModes   = "modes"
	tagInPlace = "inplace"
)

// field is one field of the spec with its value.
type field struct {
	name  string // in JSON; a nested field with the field around it, such as kubelet.maxPods
	value reflect.Value
	modes []Mode
	kept  []Mode
}

// fields returns the fields of a struct of this package.
func fields(of reflect.Value, prefix string, modes []Mode) []field {
	all := make([]field, 0, of.NumField())
	for i := range of.NumField() {
		declared := of.Type().Field(i)
		name, _, _ := strings.Cut(declared.Tag.Get("json"), ",")
		f := field{name: prefix + name, value: of.Field(i), modes: modes, kept: modesOf(declared.Tag.Get(tagInPlace))}
		if own, ok := declared.Tag.Lookup(tagModes); ok {
			f.modes = modesOf(own)
		}
		all = append(all, f)
	}
	return all
}

func modesOf(tag string) []Mode {
	var modes []Mode
	for name := range strings.SplitSeq(tag, ",") {
		if name != "" {
			modes = append(modes, Mode(name))
		}
	}
	return modes
}

func (in *LinodeNodeClassSpec) fields() []field {
	return fields(reflect.ValueOf(in).Elem(), "", []Mode{ModeInstance})
}

// set reports whether the field has a value. An empty list counts as not set.
func (f field) set() bool {
	if kind := f.value.Kind(); kind == reflect.Slice || kind == reflect.Map {
		return f.value.Len() > 0
	}
	return !f.value.IsZero()
}

// replaces reports whether a change of the field replaces nodes in the mode.
func (f field) replaces(mode Mode) bool {
	return slices.Contains(f.modes, mode) && !slices.Contains(f.kept, mode)
}

// inner returns the fields below this field. It returns nothing if the field is not set or is not a struct of this package.
func (f field) inner() []field {
	value := reflect.Indirect(f.value)
	if value.Kind() != reflect.Struct || value.Type().PkgPath() != reflect.TypeFor[LinodeNodeClassSpec]().PkgPath() {
		return nil
	}
	return fields(value, f.name+".", f.modes)
}

// Effective returns a copy without the fields that have no effect in the mode.
func (in *LinodeNodeClassSpec) Effective(mode Mode) *LinodeNodeClassSpec {
	spec := in.DeepCopy()
	for all := spec.fields(); len(all) > 0; all = all[1:] {
		if f := all[0]; !slices.Contains(f.modes, mode) {
			f.value.SetZero()
		} else {
			all = slices.Insert(all, 1, f.inner()...)
		}
	}
	return spec
}

// WithoutEffect returns the names of the fields that are set and have no effect in the mode.
func (in *LinodeNodeClassSpec) WithoutEffect(mode Mode) []string {
	spec := *in
	spec.SwapSize, spec.SwapSizeAlpha = in.Swap(), nil
	if spec.Image == DefaultImage {
		spec.Image = "" // an older CRD filled it in
	}
	var names []string
	for all := spec.fields(); len(all) > 0; all = all[1:] {
		switch f := all[0]; {
		case !f.set():
		case !slices.Contains(f.modes, mode):
			names = append(names, f.name)
		default:
			all = slices.Insert(all, 1, f.inner()...)
		}
	}
	return names
}
