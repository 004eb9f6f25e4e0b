package status_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

var (
	standard   = status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierStandard, Region: "us-ord", ControlPlaneVersion: "1.35"}
	enterprise = status.Cluster{Mode: v1alpha1.ModeLKE, Tier: status.TierEnterprise, Region: "us-ord", ControlPlaneVersion: "v1.33.6+lke7"}
	instance   = status.Cluster{Mode: v1alpha1.ModeInstance, Region: "us-ord", ControlPlaneVersion: "v1.35.1"}
)

// account answers lookups. Its objects are the objects that a test names; err, when set, answers everything.
type account struct {
	firewalls map[int]status.Firewall
	images    map[string]status.Image
	groups    map[int]status.PlacementGroup
	regions   map[string]status.Region
	vpcs      map[int]status.VPC
	err       error
	asked     []string
}

func answer[K comparable, V any](a *account, kind string, objects map[K]V, id K) (*V, error) {
	a.asked = append(a.asked, fmt.Sprintf("%s %v", kind, id))
	if a.err != nil {
		return nil, a.err
	}
	if object, ok := objects[id]; ok {
		return &object, nil
	}
	return nil, nil
}

func (a *account) Firewall(_ context.Context, id int) (*status.Firewall, error) {
	return answer(a, "firewall", a.firewalls, id)
}

func (a *account) Image(_ context.Context, id string) (*status.Image, error) {
	return answer(a, "image", a.images, id)
}

func (a *account) PlacementGroup(_ context.Context, id int) (*status.PlacementGroup, error) {
	return answer(a, "placement group", a.groups, id)
}

func (a *account) Region(_ context.Context, id string) (*status.Region, error) {
	return answer(a, "region", a.regions, id)
}

func (a *account) VPC(_ context.Context, id int) (*status.VPC, error) {
	return answer(a, "VPC", a.vpcs, id)
}

func (a *account) NewestImage(_ context.Context, pattern string) (id, label string, err error) {
	a.asked = append(a.asked, "images "+pattern)
	if a.err != nil || pattern != "kubernetes-*" {
		return "", "", a.err
	}
	return "private/7", "kubernetes-2", nil
}

func anAccount() *account {
	return &account{
		firewalls: map[int]status.Firewall{
			1: {Label: "nodes", Status: "enabled"}, 2: {Label: "old", Status: "deleted"}, 3: {Label: "off", Status: "disabled"},
		},
		images: map[string]status.Image{
			v1alpha1.DefaultImage: {Label: "Ubuntu", Available: true, CloudInit: true},
			"private/1":           {Label: "uploading", CloudInit: true}, "private/2": {Label: "plain", Available: true},
			"linode/old": {Label: "Old", Available: true, CloudInit: true, Deprecated: true},
		},
		groups: map[int]status.PlacementGroup{1: {Label: "here", Region: "us-ord"}, 2: {Label: "there", Region: "de-fra-2"},
			3: {Label: "full", Region: "us-ord", Members: 5, Limit: 5}},
		regions: map[string]status.Region{
			"us-ord": {Capabilities: []string{"Linodes", "Metadata", "VPCs", "Placement Group", "LA Disk Encryption"}},
			"old":    {Capabilities: []string{"Linodes"}},
			"bare":   {Capabilities: []string{"Linodes", "Metadata"}},
		},
		vpcs: map[int]status.VPC{3: {Label: "net", Region: "us-ord", Subnets: []int{30, 31}, IPv6Subnets: []int{31}},
			4: {Label: "far", Region: "de-fra-2", Subnets: []int{40}}},
	}
}

func classOf(spec v1alpha1.LinodeNodeClassSpec) *v1alpha1.LinodeNodeClass {
	return &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: spec}
}
