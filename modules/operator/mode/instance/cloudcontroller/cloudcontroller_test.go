package cloudcontroller_test

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/cloudcontroller"
)

func daemonSet(name, image string, args ...string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "a", Image: image, Args: args}},
		}}},
	}
}

func TestFlagsAreThoseOfTheManagersDaemonSet(t *testing.T) {
	const image = "registry.example.com/linode/linode-cloud-controller-manager:v0.9.9"
	for name, c := range map[string]struct {
		args []string
		want *cloudcontroller.Flags
	}{
		"none": {nil, &cloudcontroller.Flags{}},
		"with equals signs": {[]string{"--vpc-names=a, b", "--linode-tag-filter=team=a"},
			&cloudcontroller.Flags{VPCNames: []string{"a", "b"}, TagFilter: "team=a"}},
		"as two words": {[]string{"--vpc-names", "a", "--v", "3"}, &cloudcontroller.Flags{VPCNames: []string{"a"}}},
		"subnets": {[]string{"--subnet-names=a,b", "--subnet-ids", "7,8"},
			&cloudcontroller.Flags{SubnetNames: []string{"a", "b"}, SubnetIDs: []int{7, 8}}},
		"private backends":            {[]string{"--disable-nodebalancer-vpc-backends", "--v=3"}, &cloudcontroller.Flags{PrivateBackends: true}},
		"private backends, with true": {[]string{"--disable-nodebalancer-vpc-backends=true"}, &cloudcontroller.Flags{PrivateBackends: true}},
		"no private backends":         {[]string{"--disable-nodebalancer-vpc-backends=false"}, &cloudcontroller.Flags{}},
		"given twice":                 {[]string{"--vpc-ids=1", "--vpc-ids=2,x"}, &cloudcontroller.Flags{VPCIDs: []int{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).
				WithObjects(daemonSet("ccm-linode", image, c.args...), daemonSet("calico", "calico/node", "--vpc-names=other")).Build()
			got, err := cloudcontroller.NewReader(kube).Flags(t.Context())
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("read %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	none := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(daemonSet("calico", "calico/node")).Build()
	if got, err := cloudcontroller.NewReader(none).Flags(t.Context()); got != nil || err != nil {
		t.Errorf("without a manager: %+v, %v", got, err)
	}
}

func TestMisfit(t *testing.T) {
	type flags = cloudcontroller.Flags
	type linodes = cloudcontroller.Linodes
	inVPC := func(id int, label string) linodes { return linodes{VPC: id, VPCLabel: label} }
	subnets := func(labels ...string) linodes {
		l := linodes{VPC: 1, VPCLabel: "b", Subnets: map[int]string{}}
		for i, label := range labels {
			l.Subnets[i+1] = label
		}
		return l
	}
	for name, c := range map[string]struct {
		manager *flags
		linodes linodes
		reason  string
		fatal   bool
		words   string
	}{
		"a private address":                    {&flags{}, linodes{Private: true}, "", false, ""},
		"a private address, no manager found":  {nil, linodes{Private: true}, "", false, ""},
		"no private address":                   {&flags{}, linodes{}, v1alpha1.ReasonNoPrivateAddress, false, "spec.privateIP"},
		"no private address, no manager found": {nil, linodes{}, v1alpha1.ReasonNoPrivateAddress, false, "spec.vpcID"},
		"the manager's VPC":                    {&flags{VPCNames: []string{"a", "b"}}, inVPC(1, "b"), "", false, ""},
		"the manager's VPC by ID":              {&flags{VPCIDs: []int{1}}, inVPC(1, "b"), "", false, ""},
		"another VPC":                          {&flags{VPCNames: []string{"a"}}, inVPC(1, "b"), v1alpha1.ReasonVPCMismatch, true, "VPC 1 (b)"},
		"another VPC by ID":                    {&flags{VPCIDs: []int{2}}, inVPC(1, ""), v1alpha1.ReasonVPCMismatch, true, "VPC 1"},
		"a VPC whose label is not known":       {&flags{VPCNames: []string{"a"}}, inVPC(1, ""), "", false, ""},
		"the default subnet":                   {&flags{VPCNames: []string{"b"}}, subnets("default"), "", false, ""},
		"a subnet of the flag": {&flags{VPCNames: []string{"b"}, SubnetNames: []string{"x", "nodes"}}, subnets("nodes"), "",
			false, ""},
		"one of its subnets":        {&flags{VPCNames: []string{"b"}}, subnets("nodes", "default"), "", false, ""},
		"a subnet by ID":            {&flags{VPCIDs: []int{1}, SubnetIDs: []int{2, 1}}, subnets("nodes"), "", false, ""},
		"an unknown subnet's label": {&flags{VPCNames: []string{"b"}}, subnets(""), "", false, ""},
		"another subnet than the default": {&flags{VPCNames: []string{"b"}}, subnets("nodes"), v1alpha1.ReasonVPCMismatch, true,
			"subnet 1 (nodes) of VPC 1 (b)"},
		"another subnet than the flag's": {&flags{VPCNames: []string{"b"}, SubnetNames: []string{"x", "y"}}, subnets("default"),
			v1alpha1.ReasonVPCMismatch, true, "the subnets x, y of its VPCs"},
		"another subnet by ID": {&flags{VPCIDs: []int{1}, SubnetIDs: []int{2}}, subnets("default"), v1alpha1.ReasonVPCMismatch, true,
			"the subnets 2 of its VPCs"},
		"a subnet, the manager without a VPC": {&flags{}, subnets("nodes"), v1alpha1.ReasonVPCMismatch, false, "--vpc-names"},
		"no VPC where the manager has one": {&flags{VPCNames: []string{"a"}}, linodes{Private: true}, v1alpha1.ReasonVPCMismatch,
			true, "no VPC"},
		"a VPC where the manager has none": {&flags{}, inVPC(1, "b"), v1alpha1.ReasonVPCMismatch, false, "--vpc-names"},
		"a VPC, no manager found":          {nil, inVPC(1, "b"), "", false, ""},
		"a VPC and a private address":      {&flags{}, linodes{VPC: 1, Private: true}, "", false, ""},
		"the manager's VPC, private backends": {&flags{VPCNames: []string{"b"}, PrivateBackends: true}, inVPC(1, "b"),
			v1alpha1.ReasonVPCMismatch, false, "spec.privateIP"},
		"the manager's VPC, private backends and addresses": {&flags{VPCNames: []string{"b"}, PrivateBackends: true},
			linodes{VPC: 1, VPCLabel: "b", Private: true}, "", false, ""},
		"a tag that contains the filter": {&flags{TagFilter: "team"}, linodes{Private: true, Tags: []string{"x", "a-team=b"}},
			"", false, ""},
		"no tag that contains the filter": {&flags{TagFilter: "team"}, linodes{Private: true, Tags: []string{"x"}},
			v1alpha1.ReasonTagFilterMismatch, true, "settings.instance.tags"},
		"a filter for a tag of each node's own": {&flags{TagFilter: "karpenter.sh/nodepool="}, linodes{Private: true}, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.manager.Misfit(c.linodes)
			switch {
			case got == nil && c.reason == "":
			case got == nil || got.Reason != c.reason || got.Fatal != c.fatal || !strings.Contains(got.Text, c.words):
				t.Errorf("found %+v; want %s, fatal %t, with %q", got, c.reason, c.fatal, c.words)
			}
		})
	}
}
