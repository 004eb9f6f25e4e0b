package instance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/cloudcontroller"
)

// manager is a cloud controller manager with these flags, nil for none.
type manager struct{ flags *cloudcontroller.Flags }

func (m manager) Flags(context.Context) (*cloudcontroller.Flags, error) { return m.flags, nil }

// labels are the VPCs by ID.
type labels map[int]string

func (l labels) VPC(_ context.Context, id int) (*status.VPC, error) {
	if label, ok := l[id]; ok {
		return &status.VPC{Label: label, SubnetLabels: map[int]string{2: "nodes", 3: "default"}}, nil
	}
	return nil, errors.New("503")
}

// A Linode has the address that the cluster uses, and its kubelet registers with it.
func TestALinodeHasAnAddressInTheCluster(t *testing.T) {
	generations := map[string]instances.Generation{"legacy": instances.GenerationLegacy, "linode": instances.GenerationLinode, "not known": ""}
	inVPC := v1alpha1.LinodeNodeClassSpec{VPCID: new(1), SubnetID: new(2)}
	both := inVPC
	both.PrivateIP = new(true)
	for _, test := range []struct {
		name       string
		spec       v1alpha1.LinodeNodeClassSpec
		generation string
		private    bool
		requested  instances.Generation
		network    string // a part of the script that finds the address
	}{
		{"by default", v1alpha1.LinodeNodeClassSpec{}, "legacy", true, instances.GenerationLegacy, "no address in 192.168.128.0/17"},
		{"by default, account not known", v1alpha1.LinodeNodeClassSpec{}, "not known", true, instances.GenerationLegacy,
			"no address in 192.168.128.0/17"},
		{"by default, Linode interfaces", v1alpha1.LinodeNodeClassSpec{}, "linode", false, instances.GenerationLinode, ""},
		{"set, Linode interfaces", v1alpha1.LinodeNodeClassSpec{PrivateIP: new(true)}, "linode", true, instances.GenerationLegacy,
			"no address in 192.168.128.0/17"},
		{"not wanted", v1alpha1.LinodeNodeClassSpec{PrivateIP: new(false)}, "legacy", false, "", ""},
		{"in a VPC", inVPC, "legacy", false, instances.GenerationLegacy, "no address in 10.0.0.0/8"},
		{"in a VPC and private", both, "legacy", true, instances.GenerationLegacy, "no address in 10.0.0.0/8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, func(c *instance.Config) {
				c.Generation = func(context.Context) (instances.Generation, error) { return generations[test.generation], nil }
			})
			_, _ = w.backend.Claim(t.Context(), launch(classWith(test.spec))) // there is no VPC: the request counts
			spec := w.engine.specs[0]
			if spec.Network.PrivateIP != test.private || spec.Network.Generation != test.requested {
				t.Errorf("private %t, generation %q; want %t, %q", spec.Network.PrivateIP, spec.Network.Generation, test.private, test.requested)
			}
			data := string(spec.UserData.Content)
			if strings.Contains(data, "name: node-ip") != (test.network != "") || !strings.Contains(data, test.network) {
				t.Errorf("the user data lacks %q:\n%s", test.network, data)
			}
		})
	}
}

func TestASettingsTagsAreOnAllLinodes(t *testing.T) {
	w := newWorld(t, known, func(c *instance.Config) { c.Tags = []string{"cluster=prod", "team=a"} })
	if _, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a", "other"}}))); err != nil {
		t.Fatal(err)
	}
	tags := w.sim.Snapshot().Instances[0].Tags
	for _, tag := range []string{"cluster=prod", "team=a", "other"} {
		if !slices.Contains(tags, tag) {
			t.Errorf("the tags %q lack %s", tags, tag)
		}
	}
}

// The condition names the part of the class that does not fit the cloud controller manager. If the manager would never find the Linodes,
// the class is not Ready.
func TestCheckComparesWithTheCloudControllerManager(t *testing.T) {
	linode := func(context.Context) (instances.Generation, error) { return instances.GenerationLinode, nil }
	inVPC := v1alpha1.LinodeNodeClassSpec{Image: "private/1", VPCID: new(7), SubnetID: new(2)}
	own := v1alpha1.LinodeNodeClassSpec{Image: "private/1"}
	for _, test := range []struct {
		name   string
		spec   v1alpha1.LinodeNodeClassSpec
		flags  *cloudcontroller.Flags
		change func(*instance.Config)
		reason string
		status metav1.ConditionStatus
		words  string
	}{
		{"nothing is known of it", own, nil, nil, "", "", ""},
		{"it fits", own, &cloudcontroller.Flags{}, nil, "", "", ""},
		{"its VPC and subnet", inVPC, &cloudcontroller.Flags{VPCNames: []string{"net"}, SubnetNames: []string{"nodes"}}, nil, "", "", ""},
		{"its VPC and subnet by ID", inVPC, &cloudcontroller.Flags{VPCIDs: []int{7}, SubnetIDs: []int{2}}, nil, "", "", ""},
		{"its VPC, the default subnet", inVPC, &cloudcontroller.Flags{VPCNames: []string{"net"}}, nil, v1alpha1.ReasonVPCMismatch, "False",
			"subnet 2 (nodes)"},
		{"its VPC, another subnet", inVPC, &cloudcontroller.Flags{VPCNames: []string{"net"}, SubnetNames: []string{"other"}}, nil,
			v1alpha1.ReasonVPCMismatch, "False", "spec.subnetID"},
		{"its VPC, another subnet by ID", inVPC, &cloudcontroller.Flags{VPCIDs: []int{7}, SubnetIDs: []int{3}}, nil,
			v1alpha1.ReasonVPCMismatch, "False", "--subnet-ids"},
		{"another VPC", inVPC, &cloudcontroller.Flags{VPCNames: []string{"other"}}, nil, v1alpha1.ReasonVPCMismatch, "False", "VPC 7 (net)"},
		{"no VPC", own, &cloudcontroller.Flags{VPCNames: []string{"net"}}, nil, v1alpha1.ReasonVPCMismatch, "False", "spec.vpcID"},
		{"a VPC that it does not have", inVPC, &cloudcontroller.Flags{}, nil, v1alpha1.ReasonVPCMismatch, "True", "--vpc-names"},
		{"its VPC, and backends with private addresses alone", inVPC,
			&cloudcontroller.Flags{VPCNames: []string{"net"}, SubnetNames: []string{"nodes"}, PrivateBackends: true}, nil,
			v1alpha1.ReasonVPCMismatch, "True", "--disable-nodebalancer-vpc-backends"},
		{"Linode interfaces", own, &cloudcontroller.Flags{}, func(c *instance.Config) { c.Generation = linode }, v1alpha1.ReasonNoPrivateAddress,
			"True", "spec.privateIP"},
		{"a tag of another cluster", own, &cloudcontroller.Flags{TagFilter: "prod"}, nil, v1alpha1.ReasonTagFilterMismatch, "False",
			"settings.instance.tags"},
		{"a tag of the settings", own, &cloudcontroller.Flags{TagFilter: "prod"},
			func(c *instance.Config) { c.Tags = []string{"cluster=prod"} }, "", "", ""},
		{"the cluster's own tag", own, &cloudcontroller.Flags{TagFilter: "kubernetes.io/cluster/own"}, nil, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, func(c *instance.Config) {
				c.Neighbours = instance.Neighbours{CloudController: manager{test.flags}, VPCs: labels{7: "net"}}
				if test.change != nil {
					test.change(c)
				}
			})
			found := w.backend.Check(t.Context(), classWith(test.spec))
			if found.Reason != test.reason || found.Status != test.status || !strings.Contains(found.Message, test.words) {
				t.Errorf("found %+v; want %s with %s and %q", found, test.status, test.reason, test.words)
			}
		})
	}
}
