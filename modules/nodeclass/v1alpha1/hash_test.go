package v1alpha1_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func ptr[T any](value T) *T { return &value }

func full() *v1alpha1.LinodeNodeClass {
	return &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{
		Tags:            []string{"team=a", "env=b"},
		FirewallID:      ptr(12),
		LKEK8sVersion:   "v1.33.6+lke7",
		DiskEncryption:  v1alpha1.DiskEncryptionEnabled,
		Image:           "linode/debian12",
		AuthorizedKeys:  []string{"ssh-rsa A", "ssh-rsa B"},
		AuthorizedUsers: []string{"alice", "bob"},
		BackupsEnabled:  ptr(true),
		SwapSize:        ptr(512),
		PlacementGroup:  &v1alpha1.PlacementGroup{ID: 7, CompliantOnly: ptr(true)},
		VPCID:           ptr(9),
		IPv6Options:     &v1alpha1.IPv6Options{EnableSLAAC: ptr(true), EnableRanges: []string{"/64"}},
		OSDisk:          &v1alpha1.Disk{Size: resource.MustParse("20Gi"), Filesystem: "ext4"},
		DataDisks:       &v1alpha1.DataDisks{SDB: &v1alpha1.Disk{Size: resource.MustParse("10Gi")}},
		Configuration:   &v1alpha1.Configuration{Kernel: "linode/grub2"},
		Kubelet:         &v1alpha1.KubeletConfiguration{MaxPods: ptr(int32(110)), SystemReserved: map[string]string{"cpu": "100m"}},
	}}
}

// Which change replaces nodes in which mode. Every field of the spec must be here.
func TestHashChanges(t *testing.T) {
	both, instance, never := []bool{true, true}, []bool{false, true}, []bool{false, false}
	tests := map[string]struct {
		change func(*v1alpha1.LinodeNodeClassSpec)
		drifts []bool // in lke mode, in instance mode
	}{
		"Tags":            {func(s *v1alpha1.LinodeNodeClassSpec) { s.Tags = nil }, never},
		"FirewallID":      {func(s *v1alpha1.LinodeNodeClassSpec) { s.FirewallID = ptr(13) }, both},
		"LKEK8sVersion":   {func(s *v1alpha1.LinodeNodeClassSpec) { s.LKEK8sVersion = "" }, both},
		"DiskEncryption":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.DiskEncryption = v1alpha1.DiskEncryptionDisabled }, both},
		"Image":           {func(s *v1alpha1.LinodeNodeClassSpec) { s.Image = v1alpha1.DefaultImage }, instance},
		"AuthorizedKeys":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.AuthorizedKeys = []string{"ssh-rsa A"} }, instance},
		"AuthorizedUsers": {func(s *v1alpha1.LinodeNodeClassSpec) { s.AuthorizedUsers = []string{"alice"} }, instance},
		"BackupsEnabled":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.BackupsEnabled = nil }, instance},
		"SwapSize":        {func(s *v1alpha1.LinodeNodeClassSpec) { s.SwapSize = ptr(1024) }, instance},
		"PlacementGroup":  {func(s *v1alpha1.LinodeNodeClassSpec) { s.PlacementGroup.ID = 8 }, instance},
		"VPCID":           {func(s *v1alpha1.LinodeNodeClassSpec) { s.VPCID = nil }, instance},
		"IPv6Options":     {func(s *v1alpha1.LinodeNodeClassSpec) { s.IPv6Options.EnableRanges = nil }, instance},
		"OSDisk":          {func(s *v1alpha1.LinodeNodeClassSpec) { s.OSDisk.Size = resource.MustParse("21Gi") }, instance},
		"DataDisks":       {func(s *v1alpha1.LinodeNodeClassSpec) { s.DataDisks.SDC = s.DataDisks.SDB }, instance},
		"Configuration":   {func(s *v1alpha1.LinodeNodeClassSpec) { s.Configuration.Kernel = "linode/latest-64bit" }, instance},
		"Kubelet":         {func(s *v1alpha1.LinodeNodeClassSpec) { s.Kubelet.SystemReserved["cpu"] = "200m" }, instance},
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
		if got := full().Hash(mode); got != want {
			t.Errorf("the hash in %s mode is %s, and was %s with HashVersion %s", mode, got, want, v1alpha1.HashVersion)
		}
	}
}

const (
	lkeHash      = "9909557364876053267"
	instanceHash = "5136080972983255120"
)
