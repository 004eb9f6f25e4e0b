package conversion_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/conversion"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const (
	alpha = "apiVersion: karpenter.k8s.linode/v1alpha1\nkind: LinodeNodeClass\n"
	v1    = "apiVersion: karpenter.k8s.linode/v1\nkind: LinodeNodeClass\n"
)

func TestAConversionKeepsTheNamesThatTheUserChose(t *testing.T) {
	for name, c := range map[string]struct{ alpha, v1 string }{
		"nothing to rename": {alpha + "metadata: {name: a, annotations: {b: c}}\nspec: {swapSize: 512, tags: [x=y]}",
			v1 + "metadata: {name: a, annotations: {b: c}}\nspec: {swapSize: 512, tags: [x=y]}"},
		"swap_size": {alpha + "metadata: {name: a}\nspec: {swap_size: 512}",
			v1 + "metadata: {name: a, annotations: {karpenter.k8s.linode/v1alpha1-names: swap_size}}\nspec: {swapSize: 512}"},
		"a placement group": {alpha + "metadata: {name: a, annotations: {b: c}}\nspec: {placementGroup: {id: 7}}",
			v1 + "metadata: {name: a, annotations: {b: c, karpenter.k8s.linode/v1alpha1-names: placementGroup}}\n" +
				"spec: {placementGroups: [{id: 7}]}"},
		"both": {alpha + "metadata: {name: a}\nspec: {swap_size: 0, placementGroup: {id: 7}}",
			v1 + "metadata: {name: a, annotations: {karpenter.k8s.linode/v1alpha1-names: 'placementGroup,swap_size'}}\n" +
				"spec: {swapSize: 0, placementGroups: [{id: 7}]}"},
		"a list": {alpha + "metadata: {name: a}\nspec: {placementGroups: [{id: 7}]}",
			v1 + "metadata: {name: a}\nspec: {placementGroups: [{id: 7}]}"},
		"a field that is not known here": {alpha + "spec: {later: {swap_size: 1}}\nstatus: {images: [{id: linode/x}]}",
			v1 + "spec: {later: {swap_size: 1}}\nstatus: {images: [{id: linode/x}]}"},
		"no spec": {alpha + "metadata: {name: a}", v1 + "metadata: {name: a}"},
	} {
		old, wanted := parsed(t, c.alpha), parsed(t, c.v1)
		there, err := conversion.ToV1(old)
		if err != nil || !reflect.DeepEqual(there, wanted) {
			t.Errorf("%s: %v, %v, want %v", name, there, err, wanted)
			continue
		}
		back, err := conversion.ToV1alpha1(there)
		if err != nil || !reflect.DeepEqual(back, old) {
			t.Errorf("%s: back it is %v, %v, want %v", name, back, err, old)
		}
		if !reflect.DeepEqual(there, wanted) || !reflect.DeepEqual(old, parsed(t, c.alpha)) {
			t.Errorf("%s: the object given was changed", name)
		}
	}
}

func TestWhatIsChangedUnderV1IsNotUndone(t *testing.T) {
	names := "metadata: {annotations: {karpenter.k8s.linode/v1alpha1-names: 'placementGroup,swap_size'}}\n"
	for edited, want := range map[string]string{
		"spec: {placementGroups: [{id: 7}, {id: 8}], swapSize: 1}": "spec: {placementGroups: [{id: 7}, {id: 8}], swap_size: 1}",
		"spec: {placementGroups: [{id: 9}]}":                       "spec: {placementGroup: {id: 9}}",
		"spec: {}":                                                 "spec: {}",
	} {
		back, err := conversion.ToV1alpha1(parsed(t, v1+names+edited))
		if wanted := parsed(t, alpha+"metadata: {}\n"+want); err != nil || !reflect.DeepEqual(back, wanted) {
			t.Errorf("%s: %v, %v, want %v", edited, back, err, wanted)
		}
	}
}

func TestOtherObjectsAreRefused(t *testing.T) {
	for _, text := range []string{v1, "apiVersion: karpenter.k8s.linode/v1alpha1\nkind: NodePool", "{}",
		alpha + "spec: {swap_size: 1, swapSize: 2}", alpha + "spec: {placementGroup: {id: 1}, placementGroups: [{id: 2}]}"} {
		if object, err := conversion.ToV1(parsed(t, text)); err == nil {
			t.Errorf("%s: %v", text, object)
		}
	}
	if object, err := conversion.ToV1alpha1(parsed(t, alpha)); err == nil {
		t.Errorf("%v", object)
	}
}

// random fills a class from the fuzzer's bytes, within what v1alpha1 admits: one name for each setting.
func random(data []byte) *v1alpha1.LinodeNodeClass {
	class := &v1alpha1.LinodeNodeClass{}
	randfill.NewFromGoFuzz(data).NilChance(0.4).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
		func(*metav1.Time, randfill.Continue) {},
		func(m *metav1.ObjectMeta, c randfill.Continue) { m.Name = fmt.Sprint("class-", c.Intn(9)) },
		func(s *string, c randfill.Continue) { *s = strings.ToValidUTF8(c.String(8), "x") },
		func(j *apiextensionsv1.JSON, c randfill.Continue) { j.Raw = fmt.Appendf(nil, `{"a": [%d]}`, c.Intn(9)) },
	).Fill(class)
	class.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.Kind}
	if class.Spec.SwapSize != nil {
		class.Spec.SwapSizeAlpha = nil
	}
	if class.Spec.PlacementGroup != nil {
		class.Spec.PlacementGroups = nil
	}
	return class
}

func roundTrip(t *testing.T, data []byte) {
	class := random(data)
	old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(class)
	if err != nil {
		t.Fatal(err)
	}
	there, err := conversion.ToV1(old)
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := there["spec"].(map[string]any)
	for _, gone := range []string{"swap_size", "placementGroup"} {
		if _, found := spec[gone]; found {
			t.Errorf("v1 has %s: %v", gone, spec)
		}
	}
	back, err := conversion.ToV1alpha1(there)
	if err != nil || !reflect.DeepEqual(back, old) {
		t.Errorf("%v\nbecame %v\nand then %v, %v", old, there, back, err)
	}
	// Written under v1 alone, without the annotation: nothing is lost, and no node drifts.
	delete(there, "metadata")
	plain, err := conversion.ToV1alpha1(there)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := conversion.ToV1(plain); err != nil || !reflect.DeepEqual(again, there) {
		t.Errorf("%v\nbecame %v, %v", there, again, err)
	}
	typed := &v1alpha1.LinodeNodeClass{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(plain, typed, true); err != nil {
		t.Errorf("v1alpha1 does not have all fields: %v", err)
	}
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeLKE, v1alpha1.ModeInstance, v1alpha1.ModeClusterAPI} {
		if before, after := class.Hash(mode), typed.Hash(mode); before != after {
			t.Errorf("in mode %s the hash %s became %s: all nodes would be replaced\n%v", mode, before, after, old)
		}
	}
}

func TestRandomClassesSurviveAConversion(t *testing.T) {
	renamed := map[string]int{}
	for seed := range 2000 {
		data := make([]byte, 1500)
		for i, state := 0, uint64(seed)*2862933555777941757+3037000493; i < len(data); i++ {
			state = state*6364136223846793005 + 1442695040888963407
			data[i] = byte(state >> 56)
		}
		roundTrip(t, data)
		if spec := random(data).Spec; spec.SwapSizeAlpha != nil {
			renamed["swap_size"]++
		} else if spec.PlacementGroup != nil {
			renamed["placementGroup"]++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if renamed["swap_size"] < 100 || renamed["placementGroup"] < 100 {
		t.Errorf("of 2,000 classes these had an old name: %v", renamed)
	}
}

func FuzzConversion(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(strings.Repeat("\x01", 400)))
	f.Fuzz(roundTrip)
}
