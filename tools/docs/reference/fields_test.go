package reference

import (
	"slices"
	"strings"
	"testing"
)

// kubectl explain has no column for the mode: the description of a field without effect on LKE begins with that, and no other does.
func TestDescriptionsOfFieldsBeginWithWhatTheyDoOnLKE(t *testing.T) {
	root, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	check := func(path, modes, description string) {
		t.Helper()
		if strings.HasPrefix(description, withoutEffect) != notOnLKE(effect{modes: modes}) {
			t.Errorf("%s has an effect in: %s. Its description: %s", path, modes, description)
		}
	}
	spec := root.Properties["spec"]
	for name, field := range spec.Properties {
		effect, err := effectOf(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, effect.modes, field.Description)
	}
	for name, field := range spec.Properties["kubelet"].Properties {
		check("kubelet."+name, kubeletModes(name), field.Description)
	}
	if text := spec.Description + spec.Properties["tags"].Description; strings.Contains(strings.ReplaceAll(text, "\n\n", ""), "\n") {
		t.Errorf("a description has line breaks: %q", text)
	}
}

func TestFieldsThatCountOnLKEComeFirst(t *testing.T) {
	root, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	names, effects, err := byMode(root.Properties["spec"].Properties)
	if err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(names, func(name string) bool { return notOnLKE(effects[name]) })
	for _, name := range names[first:] {
		if !notOnLKE(effects[name]) {
			t.Errorf("%s comes after fields without effect: %v", name, names)
		}
	}
	if first < 5 {
		t.Errorf("only %v come first", names[:first])
	}
}
