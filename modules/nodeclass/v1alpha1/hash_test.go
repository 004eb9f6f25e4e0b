package v1alpha1_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func ptr[T any](value T) *T { return &value }

func full() *v1alpha1.LinodeNodeClass {
	return &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{
		Tags:            []string{"team=a", "env=b"},
		FirewallID:      ptr(12),
		LKEK8sVersion:   "v1.33.6+lke7",
		DiskEncryption:  v1alpha1.DiskEncryptionEnabled,
		Isolation:       &v1alpha1.Isolation{PublicIPv4: ptr(false)},
		Image:           "linode/debian12",
		AuthorizedKeys:  []string{"ssh-rsa A", "ssh-rsa B"},
		AuthorizedUsers: []string{"alice", "bob"},
		BackupsEnabled:  ptr(true),
		SwapSize:        ptr(512),
		Bootstrap:       &v1alpha1.Bootstrap{PreJoinCommands: []string{"true"}},
		SubnetID:        ptr(4),
		Interfaces:      []v1alpha1.Interface{{Type: v1alpha1.InterfaceVPC}},
		PlacementGroup:  &v1alpha1.PlacementGroup{ID: 7, CompliantOnly: ptr(true)},
		VPCID:           ptr(9),
		IPv6Options:     &v1alpha1.IPv6Options{EnableSLAAC: ptr(true), EnableRanges: []string{"/64"}},
		OSDisk:          &v1alpha1.Disk{Size: resource.MustParse("20Gi"), Filesystem: "ext4"},
		DataDisks:       &v1alpha1.DataDisks{SDB: &v1alpha1.Disk{Size: resource.MustParse("10Gi")}},
		Configuration:   &v1alpha1.Configuration{Kernel: "linode/grub2"},
		Kubelet: &v1alpha1.KubeletConfiguration{MaxPods: ptr(int32(110)),
			SystemReserved: map[string]v1alpha1.ReservedQuantity{"cpu": "100m"}},
	}}
}

// The table lists which change replaces nodes in which mode. Every field of the spec must be in it.
func TestHashChanges(t *testing.T) {
	both, lke, instance, never := []bool{true, true}, []bool{true, false}, []bool{false, true}, []bool{false, false}
	tests := map[string]struct {
		change func(*v1alpha1.LinodeNodeClassSpec)
		drifts []bool // in lke mode, in instance mode
	}{
		"Tags":           {func(s *v1alpha1.LinodeNodeClassSpec) { s.Tags = nil }, never},
		"FirewallID":     {func(s *v1alpha1.LinodeNodeClassSpec) { s.FirewallID = ptr(13) }, both},
		"LKEK8sVersion":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.LKEK8sVersion = "" }, never},
		"DiskEncryption": {func(s *v1alpha1.LinodeNodeClassSpec) { s.DiskEncryption = v1alpha1.DiskEncryptionDisabled }, both},
		"Isolation":      {func(s *v1alpha1.LinodeNodeClassSpec) { s.Isolation.PublicIPv4 = ptr(true) }, lke},
		"MachineDeploymentSelector": {func(s *v1alpha1.LinodeNodeClassSpec) {
			s.MachineDeploymentSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}
		}, never},
		"Image":           {func(s *v1alpha1.LinodeNodeClassSpec) { s.Image = v1alpha1.DefaultImage }, instance},
		"AuthorizedKeys":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.AuthorizedKeys = []string{"ssh-rsa A"} }, instance},
		"AuthorizedUsers": {func(s *v1alpha1.LinodeNodeClassSpec) { s.AuthorizedUsers = []string{"alice"} }, instance},
		"BackupsEnabled":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.BackupsEnabled = nil }, instance},
		"SwapSize":        {func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize = ptr(1024) }, instance},
		"SwapSizeAlpha":   {func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize, s.SwapSizeAlpha = nil, ptr(1024) }, instance},
		"PlacementGroup":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.PlacementGroup.ID = 8 }, instance},
		"ImageSelector": {func(s *v1alpha1.LinodeNodeClassSpec) {
			s.Image, s.ImageSelector = "", &v1alpha1.ImageSelector{Label: "kubernetes-*"}
		}, instance},
		"ImageDriftPolicy": {func(s *v1alpha1.LinodeNodeClassSpec) { s.ImageDriftPolicy = v1alpha1.ImageDriftReplace }, never},
		"Bootstrap":        {func(s *v1alpha1.LinodeNodeClassSpec) { s.Bootstrap.PreJoinCommands = []string{"false"} }, instance},
		"PlacementGroups": {func(s *v1alpha1.LinodeNodeClassSpec) { s.PlacementGroups = []v1alpha1.PlacementGroup{{ID: 1}, {ID: 2}} },
			instance},
		"SubnetID":          {func(s *v1alpha1.LinodeNodeClassSpec) { s.SubnetID = ptr(5) }, instance},
		"Interfaces":        {func(s *v1alpha1.LinodeNodeClassSpec) { s.Interfaces[0].NAT = ptr(false) }, instance},
		"MaintenancePolicy": {func(s *v1alpha1.LinodeNodeClassSpec) { s.MaintenancePolicy = "linode/migrate" }, instance},
		"PrivateIP":         {func(s *v1alpha1.LinodeNodeClassSpec) { s.PrivateIP = ptr(true) }, instance},
		"VPCID":             {func(s *v1alpha1.LinodeNodeClassSpec) { s.VPCID = nil }, instance},
		"IPv6Options":       {func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = nil }, instance},
		"OSDisk":            {func(s *v1alpha1.LinodeNodeClassSpec) { s.OSDisk.Size = resource.MustParse("21Gi") }, instance},
		"DataDisks":         {func(s *v1alpha1.LinodeNodeClassSpec) { s.DataDisks.SDC = s.DataDisks.SDB }, instance},
		"Configuration":     {func(s *v1alpha1.LinodeNodeClassSpec) { s.Configuration.Kernel = "linode/latest-64bit" }, instance},
		"Kubelet":           {func(s *v1alpha1.LinodeNodeClassSpec) { s.Kubelet.SystemReserved["cpu"] = "200m" }, instance},
	}
	fields := reflect.TypeFor[v1alpha1.LinodeNodeClassSpec]()
	for i := range fields.NumField() {
		if _, ok := tests[fields.Field(i).Name]; !ok {
			t.Errorf("no test for field %s", fields.Field(i).Name)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for i, mode := range []v1alpha1.Mode{v1alpha1.ModeLKE, v1alpha1.ModeInstance} {
				changed := full()
				test.change(&changed.Spec)
				if drifts := changed.Hash(mode) != full().Hash(mode); drifts != test.drifts[i] {
					t.Errorf("in %s mode the hash changes: %t, expected %t", mode, drifts, test.drifts[i])
				}
			}
		})
	}
}

// An empty list counts, because it is not the kubelet's default. The way in which JSON is written makes no difference.
func TestHashOfFurtherKubeletFields(t *testing.T) {
	hash := func(raw string) string {
		class := full()
		class.Spec.Kubelet.ExtraConfig = map[string]apiextensionsv1.JSON{"a": {Raw: []byte(raw)}, "b": {Raw: []byte("1")}}
		return class.Hash(v1alpha1.ModeInstance)
	}
	if hash(`{"x": 1, "y": []}`) != hash(`{"y":[],"x":1}`) {
		t.Error("the order of keys changes the hash")
	}
	for _, other := range []string{`{"x": 1}`, `{"x": 2, "y": []}`, `[]`, `null`} {
		if hash(`{"x": 1, "y": []}`) == hash(other) {
			t.Errorf("%s does not change the hash", other)
		}
	}
	if full().Hash(v1alpha1.ModeInstance) == hash("1") {
		t.Error("the fields do not change the hash")
	}
}

// Every field, at every depth, changes the hash in instance mode when it is set, and in lke mode if LKE's pools have the field. The test
// finds a field that is added to the type.
func TestHashCoversEveryField(t *testing.T) {
	lke := []string{"FirewallID", "DiskEncryption", "Isolation"}
	notInstance := []string{"Tags", "LKEK8sVersion", "Isolation", "ImageDriftPolicy", "MachineDeploymentSelector"}
	empty := &v1alpha1.LinodeNodeClass{}
	for _, path := range leaves(reflect.TypeFor[v1alpha1.LinodeNodeClassSpec](), nil) {
		t.Run(strings.Join(path, "."), func(t *testing.T) {
			class := &v1alpha1.LinodeNodeClass{}
			set(t, reflect.ValueOf(&class.Spec).Elem(), path)
			for mode, want := range map[v1alpha1.Mode]bool{
				v1alpha1.ModeLKE: slices.Contains(lke, path[0]), v1alpha1.ModeInstance: !slices.Contains(notInstance, path[0]),
			} {
				if changes := class.Hash(mode) != empty.Hash(mode); changes != want {
					t.Errorf("in %s mode the hash changes: %t, expected %t", mode, changes, want)
				}
			}
		})
	}
}

// leaves returns the paths of all fields that have no fields themselves.
func leaves(of reflect.Type, path []string) [][]string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[resource.Quantity]() {
		return [][]string{path}
	}
	var paths [][]string
	for i := range of.NumField() {
		paths = append(paths, leaves(of.Field(i).Type, append(slices.Clone(path), of.Field(i).Name))...)
	}
	return paths
}

// set gives the field at the path a value.
func set(t *testing.T, value reflect.Value, path []string) {
	t.Helper()
	if value.Kind() == reflect.Pointer {
		value.Set(reflect.New(value.Type().Elem()))
		value = value.Elem()
	}
	if len(path) > 0 {
		set(t, value.FieldByName(path[0]), path[1:])
		return
	}
	switch kind := value.Kind(); {
	case value.Type() == reflect.TypeFor[resource.Quantity]():
		value.Set(reflect.ValueOf(resource.MustParse("7Gi")))
	case kind == reflect.String:
		value.SetString("seven")
	case kind == reflect.Int, kind == reflect.Int32:
		value.SetInt(7)
	case kind == reflect.Bool:
		value.SetBool(true)
	case kind == reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		if of := value.Index(0); of.Kind() == reflect.Struct {
			set(t, of, []string{of.Type().Field(0).Name})
		} else {
			of.SetString("seven")
		}
	case kind == reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		element := reflect.ValueOf("7")
		if value.Type().Elem() == reflect.TypeFor[apiextensionsv1.JSON]() {
			element = reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte("7")})
		}
		value.SetMapIndex(reflect.ValueOf("seven"), element.Convert(value.Type().Elem()))
	default:
		t.Fatalf("no value for a %s", value.Type())
	}
}

func TestHashSeesWhatMatters(t *testing.T) {
	spec := func(change func(*v1alpha1.LinodeNodeClassSpec)) string {
		class := full()
		change(&class.Spec)
		return class.Hash(v1alpha1.ModeInstance)
	}
	for _, test := range []struct {
		name         string
		before, then func(*v1alpha1.LinodeNodeClassSpec)
		changes      bool
	}{
		{"no swap instead of the default", func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize = nil },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize = ptr(0) }, true},
		{"no backups instead of the account's setting", func(s *v1alpha1.LinodeNodeClassSpec) { s.BackupsEnabled = nil },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.BackupsEnabled = ptr(false) }, true},
		{"the first DNS server", func(s *v1alpha1.LinodeNodeClassSpec) { s.Kubelet.ClusterDNS = []string{"10.0.0.1", "10.0.0.2"} },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.Kubelet.ClusterDNS = []string{"10.0.0.2", "10.0.0.1"} }, true},
		{"one of two equal ranges", func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = []string{"/64", "/64"} },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = []string{"/64"} }, true},
		{"both of two equal ranges", func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = []string{"/64", "/64"} },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = nil }, true},
		{"the name of the size of swap", func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize = ptr(7) },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize, s.SwapSizeAlpha = nil, ptr(7) }, false},
		{"the default image written out", func(s *v1alpha1.LinodeNodeClassSpec) { s.Image = "" },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.Image = v1alpha1.DefaultImage }, false},
		{"following the control plane", func(s *v1alpha1.LinodeNodeClassSpec) { s.Bootstrap = nil },
			func(s *v1alpha1.LinodeNodeClassSpec) {
				s.Bootstrap = &v1alpha1.Bootstrap{KubernetesVersion: v1alpha1.ClusterMinor}
			}, false},
		{"following the control plane instead of a version", func(s *v1alpha1.LinodeNodeClassSpec) { s.Bootstrap.KubernetesVersion = "v1.35.2" },
			func(s *v1alpha1.LinodeNodeClassSpec) { s.Bootstrap.KubernetesVersion = v1alpha1.ClusterMinor }, true},
		{"the order of keys", func(*v1alpha1.LinodeNodeClassSpec) {}, func(s *v1alpha1.LinodeNodeClassSpec) { slices.Reverse(s.AuthorizedKeys) },
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if changes := spec(test.before) != spec(test.then); changes != test.changes {
				t.Errorf("the hash changes: %t, expected %t", changes, test.changes)
			}
		})
	}
}

func TestHashIsStable(t *testing.T) {
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeLKE, v1alpha1.ModeInstance} {
		reordered := full()
		reordered.Spec.AuthorizedKeys = []string{"ssh-rsa B", "ssh-rsa A"}
		reordered.Name, reordered.Labels = "other", map[string]string{"a": "b"}
		reordered.Status.KubernetesVersion = "v1.34.0"
		if reordered.Hash(mode) != full().Hash(mode) {
			t.Errorf("in %s mode the order of a list, the metadata or the status changes the hash", mode)
		}
	}
	same := full()
	same.Spec.OSDisk.Size = resource.MustParse("20480Mi")
	if same.Hash(v1alpha1.ModeInstance) != full().Hash(v1alpha1.ModeInstance) {
		t.Error("the same size written differently changes the hash")
	}
	// Fixed values: a change of them replaces every node of every user, unless HashVersion is raised with it.
	for mode, want := range map[v1alpha1.Mode]string{v1alpha1.ModeLKE: lkeHash, v1alpha1.ModeInstance: instanceHash} {
		class := full()
		// These fields were added later. Classes without them keep their hash.
		class.Spec.Isolation, class.Spec.Bootstrap, class.Spec.SubnetID, class.Spec.Interfaces = nil, nil, nil, nil
		if got := class.Hash(mode); got != want {
			t.Errorf("the hash in %s mode is %s, and was %s with HashVersion %s", mode, got, want, v1alpha1.HashVersion)
		}
	}
}

// Fixed values of a class with the fields that were added later, and of a class without any field.
func TestHashIsStableForAllFields(t *testing.T) {
	empty, isolated := &v1alpha1.LinodeNodeClass{}, &v1alpha1.LinodeNodeClass{}
	isolated.Spec = v1alpha1.LinodeNodeClassSpec{Isolation: &v1alpha1.Isolation{PublicIPv6: ptr(true)},
		ImageSelector: &v1alpha1.ImageSelector{Label: "a"}, PlacementGroups: []v1alpha1.PlacementGroup{{ID: 1}}}
	for _, test := range []struct {
		name          string
		class         *v1alpha1.LinodeNodeClass
		lke, instance string
	}{
		{"all", full(), "22da4d3aed7ac90c", "e486d83ba599e85c"},
		{"none", empty, "74234e98afe7498f", "547934047806df8f"},
		{"isolation, a selector, one placement group", isolated, "cdb61f20b581b397", "7a45ca6ed4af04ff"},
	} {
		if lke, instance := test.class.Hash(v1alpha1.ModeLKE), test.class.Hash(v1alpha1.ModeInstance); lke != test.lke ||
			instance != test.instance {
			t.Errorf("%s: the hashes are %s and %s, and were %s and %s", test.name, lke, instance, test.lke, test.instance)
		}
	}
}

const (
	lkeHash      = "605f6c72dea9669e"
	instanceHash = "aa0e46c0a02a274b"
)
