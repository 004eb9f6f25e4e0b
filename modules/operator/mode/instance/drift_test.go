package instance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/imageversion"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

func TestDriftIsFoundFromTheLinodeAsItWasRead(t *testing.T) {
	is := instances.Instance{Node: claims.Node{InstanceID: 1, Region: "us-ord"}, Image: "private/1", PlacementGroup: 5}
	for _, test := range []struct {
		name   string
		change func(*instances.Instance, *v1alpha1.LinodeNodeClass)
		want   core.DriftReason
	}{
		{"as it would be made", func(*instances.Instance, *v1alpha1.LinodeNodeClass) {}, ""},
		{"another image, ignored", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) { c.Status.Images[0].ID = "private/2" }, ""},
		{"another image, replaced", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Status.Images[0].ID, c.Spec.ImageDriftPolicy = "private/2", v1alpha1.ImageDriftReplace
		}, instance.DriftImage},
		{"another region", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Region = "de-fra-2" }, instance.DriftRegion},
		{"in a group of the class", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Spec.PlacementGroups = []v1alpha1.PlacementGroup{{ID: 4}, {ID: 5}}
		}, ""},
		{"in another group", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Spec.PlacementGroup = &v1alpha1.PlacementGroup{ID: 6}
		}, instance.DriftPlacementGroup},
		{"stopped", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = claims.Stopped },
			cloudprovider.DriftInstanceStopped},
		{"going", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = claims.Deleting }, cloudprovider.DriftInstanceGone},
		{"being finished", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = claims.Unfinished }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, class := is, classWith(v1alpha1.LinodeNodeClassSpec{ImageSelector: &v1alpha1.ImageSelector{Label: "k-*"}})
			class.Status.Images = []v1alpha1.Image{{ID: "private/1"}}
			test.change(&made, class)
			w := newWorld(t, known, func(c *instance.Config) { c.Engine = listing{instance: made} })
			listed, err := w.backend.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := w.backend.Drift(t.Context(), listed[0], launch(class)); got != test.want {
				t.Errorf("the drift is %q, expected %q", got, test.want)
			}
		})
	}
}

type listing struct {
	instance.Engine
	instance instances.Instance
}

func (l listing) List(context.Context) ([]instances.Instance, error) {
	return []instances.Instance{l.instance}, nil
}

var following = &v1alpha1.Bootstrap{KubernetesVersion: v1alpha1.ClusterMinor}

// A replacement has another version only if the operator installs Kubernetes, or if the class has ClusterMinor.
func TestVersionIsDriftWhereAReplacementHasAnother(t *testing.T) {
	for _, test := range []struct {
		name      string
		bootstrap *v1alpha1.Bootstrap
		kubelet   string
		want      bool
	}{
		{"kubeadm", nil, "v1.34.1", false},
		{"k3s, older", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s}, "v1.34.1+k3s1", true},
		{"k3s, the same minor", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s}, "v1.35.1+k3s1", false},
		{"k3s, as the class asks", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, KubernetesVersion: "v1.34.2+k3s1"}, "v1.34.1+k3s1", false},
		{"kubeadm that follows", following, "v1.34.1", true},
		{"kubeadm that follows, the same minor", following, "v1.35.0", false},
		{"kubeadm that follows, newer", following, "v1.36.0", false},
		{"talos that follows", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapTalos, KubernetesVersion: v1alpha1.ClusterMinor}, "v1.34.1", true},
		{"rke2 of the image", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapRKE2, InstallerURL: "none"}, "v1.34.1+rke2r1", false},
	} {
		w := newWorld(t, known, nil)
		if got := w.backend.Outdated(t.Context(), test.kubelet,
			launch(classWith(v1alpha1.LinodeNodeClassSpec{Bootstrap: test.bootstrap}))); got != test.want {
			t.Errorf("%s: outdated is %t, expected %t", test.name, got, test.want)
		}
	}
}

// proven is the version of the nodes that image private/7 makes, "" for the wanted one.
type proven string

func (p proven) Differs(_ context.Context, _ *v1alpha1.LinodeNodeClass, wanted imageversion.Wanted) (*imageversion.Differs, error) {
	if p == "unreadable" {
		return nil, errors.New("no cache")
	}
	if p == "" || wanted.Image != "private/7" || wanted.Version != known.Version || wanted.Hash == "" {
		return nil, nil
	}
	return &imageversion.Differs{Node: "own-b", Image: wanted.Image, Want: "v1.35", Have: string(p)}, nil
}

// If a node proves that the image has another version, older nodes do not drift, because their replacements would drift again. The
// finding names the image and both versions. With another image, the nodes drift.
func TestAnImageWithAnotherVersionCausesNoDrift(t *testing.T) {
	for _, test := range []struct {
		name, image string
		proven      proven
		follows     bool
		drift       bool
		words       []string
	}{
		{"not known yet", "private/7", "", true, true, nil},
		{"proven to differ", "private/7", "v1.34.9", true, false,
			[]string{"private/7", "v1.35", "v1.34.9", "own-b", "spec.bootstrap.kubernetesVersion"}},
		{"another image since", "private/8", "v1.34.9", true, true, nil},
		{"it cannot be read", "private/7", "unreadable", true, false, nil},
		{"a class that does not follow", "private/7", "v1.34.9", false, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, known, func(c *instance.Config) { c.ImageVersions = test.proven })
			class := classWith(v1alpha1.LinodeNodeClassSpec{Image: test.image})
			class.Status.Images = nil
			if test.follows {
				class.Spec.Bootstrap = following
			}
			if got := w.backend.Outdated(t.Context(), "v1.34.1", launch(class)); got != test.drift {
				t.Errorf("outdated is %t, expected %t", got, test.drift)
			}
			message, err := w.backend.VersionDiffers(t.Context(), class)
			if (err != nil) != (test.proven == "unreadable") || (message == "") != (test.words == nil) {
				t.Errorf("the finding is %q, %v", message, err)
			}
			for _, word := range test.words {
				if !strings.Contains(message, word) {
					t.Errorf("the finding %q lacks %q", message, word)
				}
			}
		})
	}
}

// The NodeClaim of a Linode has its image, from the launch on and after a restart. The NodeClaim of an unknown Linode has no image.
func TestNodeClaimsHaveTheImageOfTheirLinode(t *testing.T) {
	w := newWorld(t, known, nil)
	market := catalog.NewCatalog(w.api, catalog.Config{Region: "us-ord", Mode: v1alpha1.ModeInstance})
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	node, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{})))
	if err != nil {
		t.Fatal(err)
	}
	for name, backend := range map[string]*instance.Backend{
		"the process that launched it": w.backend, "another": newBackend(w.engine),
	} {
		provider := cloudprovider.New(fake.NewClientBuilder().Build(), backend, market, cloudprovider.Config{Region: "us-ord"})
		listed, err := provider.List(t.Context())
		if err != nil || len(listed) != 1 || listed[0].Status.ImageID != v1alpha1.DefaultImage {
			t.Errorf("%s lists %+v, %v", name, listed, err)
		}
		got, err := provider.Get(t.Context(), nodeclaim.ProviderID(node.InstanceID))
		if err != nil || got.Status.ImageID != v1alpha1.DefaultImage {
			t.Errorf("%s gets %+v, %v", name, got, err)
		}
	}
}

func newBackend(engine instance.Engine) *instance.Backend {
	return instance.NewBackend(instance.Config{Cluster: instance.Cluster{Name: "own", Region: "us-ord"}, Engine: engine})
}
