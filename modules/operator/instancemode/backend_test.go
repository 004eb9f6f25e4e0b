package instancemode_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancemode"
)

func TestOneLinodeIsMadeForANodeClaimAndGoesWithIt(t *testing.T) {
	w := newWorld(t, known, nil)
	l := launch(classWith(v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a"}}))
	node, err := w.backend.Claim(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.backend.Claim(t.Context(), l)
	if err != nil || again.InstanceID != node.InstanceID {
		t.Fatalf("the second attempt gives %d, %v; expected %d", again.InstanceID, err, node.InstanceID)
	}
	if node.Name != "own-default-x7k2p" || node.InstanceType != "g6-standard-1" || node.Claim != w.backend.ClaimValue("default-x7k2p") {
		t.Errorf("the node is %+v", node)
	}
	for _, tag := range []string{"karpenter.sh/nodepool=default", "kubernetes.io/cluster/own=owned", "karpenter.k8s.linode/linodenodeclass=default", "team=a", instances.ClusterTag("own", "cluster-uid")} {
		if !slices.Contains(node.Tags, tag) {
			t.Errorf("the tags %v lack %s", node.Tags, tag)
		}
	}
	if listed, err := w.backend.List(t.Context()); err != nil || len(listed) != 1 || listed[0].InstanceID != node.InstanceID {
		t.Errorf("the list is %+v, %v", listed, err)
	}
	other := lkepool.Claimant{Name: "default-other", UID: "uid-2"}
	if err := w.backend.Release(t.Context(), node.InstanceID, other); lkepool.KindOf(err) != lkepool.KindConflict {
		t.Errorf("another NodeClaim removes it: %v", err)
	}
	if err := w.backend.Release(t.Context(), node.InstanceID, lkepool.Claimant{Name: "default-x7k2p", UID: "uid-1"}); err != nil {
		t.Fatal(err)
	}
	if left := w.sim.Snapshot().Instances; len(left) != 0 {
		t.Errorf("%d Linodes are left", len(left))
	}
	if _, err := w.backend.Get(t.Context(), node.InstanceID); lkepool.KindOf(err) != lkepool.KindNotFound {
		t.Errorf("the Linode is gone, and Get gives %v", err)
	}
}

func TestLinodesOfNodeClaimsThatExistAreNotCollectedAndTakeTags(t *testing.T) {
	w := newWorld(t, known, nil)
	node, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{})))
	if err != nil {
		t.Fatal(err)
	}
	alive := func(context.Context) ([]lkepool.Claimant, error) {
		return []lkepool.Claimant{{Name: "default-x7k2p", UID: "uid-1"}}, nil
	}
	if collected, err := w.backend.Collect(t.Context(), lkepool.Sweep{Alive: alive}); err != nil || len(collected.Released) != 0 {
		t.Errorf("collected %+v, %v", collected, err)
	}
	if err := w.backend.SetTags(t.Context(), node.InstanceID, lkepool.Claimant{Name: "default-x7k2p", UID: "uid-1"}, nil, []string{"new=tag"}); err != nil {
		t.Error(err)
	}
	if tags := w.sim.Snapshot().Instances[0].Tags; !slices.Contains(tags, "new=tag") {
		t.Errorf("the tags are %v", tags)
	}
}

// Every type of bootstrap gets the whole contract: name, labels, taints, kubelet settings.
func TestContractIsRenderedForEveryType(t *testing.T) {
	maxPods := int32(42)
	kubelet := &v1alpha1.KubeletConfiguration{MaxPods: &maxPods}
	const agent = "agent-token-of-the-cluster"
	for how, b := range map[v1alpha1.BootstrapType]*v1alpha1.Bootstrap{
		"":                       nil,
		v1alpha1.BootstrapK3s:    {Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("agent")},
		v1alpha1.BootstrapRKE2:   {Type: v1alpha1.BootstrapRKE2, TokenSecretRef: ref("agent"), InstallerURL: "none"},
		v1alpha1.BootstrapTalos:  {Type: v1alpha1.BootstrapTalos, UserDataSecretRef: ref("talos")},
		v1alpha1.BootstrapCustom: {Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("custom")},
	} {
		t.Run(string(how), func(t *testing.T) {
			w := newWorld(t, known, nil, secret("agent", agent+"\n"), secret("talos", "version: v1alpha1\nmachine: {type: worker, token: t}\n"),
				secret("custom", "#!/bin/sh\nhostname ${KARPENTER_NODE_NAME}\nkubelet ${KARPENTER_KUBELET_ARGS}\n"))
			class := classWith(v1alpha1.LinodeNodeClassSpec{Kubelet: kubelet, Bootstrap: b})
			if found := w.backend.Check(t.Context(), class); found != (status.Finding{}) {
				t.Fatalf("the class is not ready: %+v", found)
			}
			if len(w.tokens.issued) != 0 {
				t.Error("checking a class issues a token")
			}
			if _, err := w.backend.Claim(t.Context(), launch(class)); err != nil {
				t.Fatal(err)
			}
			data := string(w.engine.specs[0].UserData.Content)
			for _, part := range []string{"own-default-x7k2p", "karpenter.sh/unregistered", "dedicated", "starting", "42", "external", "karpenter.sh/nodepool", "team"} {
				if !strings.Contains(data, part) {
					t.Errorf("the user data lacks %q:\n%s", part, data)
				}
			}
			if hasToken := strings.Contains(data, token); hasToken != (how == "") {
				t.Errorf("a bootstrap token is in the user data: %t", hasToken)
			}
		})
	}
}

// A class that cannot work is refused with the field and the cure, and neither text of a Secret nor a token in it.
func TestCheckNamesFieldAndCure(t *testing.T) {
	unknown := joined{Version: "v1.35.2"}
	big := "#!/bin/sh\n# ${KARPENTER_KUBELET_ARGS}\n: '" + noise(60_000) + "'\n"
	quantity := func(text string) *v1alpha1.Disk { return &v1alpha1.Disk{Size: resourceOf(text)} }
	for _, test := range []struct {
		name    string
		cluster joined
		spec    v1alpha1.LinodeNodeClassSpec
		reason  string
		status  metav1.ConditionStatus
		words   []string
	}{
		{"no cluster-info", unknown, v1alpha1.LinodeNodeClassSpec{}, v1alpha1.ReasonEndpointUnknown, "False", []string{"spec.bootstrap.apiServerEndpoint", "settings.clusterEndpoint"}},
		{"no CA", joined{Endpoint: "10.0.0.2:6443"}, v1alpha1.LinodeNodeClassSpec{}, v1alpha1.ReasonCAUnknown, "False", []string{"spec.bootstrap.caCertHashes", "settings.clusterCABundle"}},
		{"Secret that is not there", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("missing")}},
			v1alpha1.ReasonSecretNotFound, "False", []string{"spec.bootstrap.tokenSecretRef", "kube-system/missing"}},
		{"Secret without the key", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s,
			TokenSecretRef: &v1alpha1.SecretKeyReference{Namespace: "kube-system", Name: "short", Key: "other"}}}, v1alpha1.ReasonSecretNotFound, "False", []string{`"other"`}},
		{"token that no agent takes", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapK3s, TokenSecretRef: ref("short")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"token"}},
		{"user data over the limit", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("big")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"spec.bootstrap", "16384"}},
		{"user data with an unknown variable", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("typo")}},
			v1alpha1.ReasonBootstrapInvalid, "False", []string{"KARPENTER_NAME"}},
		{"user data that leaves out the contract", known, v1alpha1.LinodeNodeClassSpec{Bootstrap: &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapCustom, UserDataSecretRef: ref("bare")}},
			v1alpha1.ReasonContractIncomplete, "True", []string{"KARPENTER_KUBELET_ARGS"}},
		{"boot disk that is too small", known, v1alpha1.LinodeNodeClassSpec{OSDisk: quantity("1Gi")}, v1alpha1.ReasonBootstrapInvalid, "False", []string{"spec.osDisk"}},
		{"data disk without a boot disk", known, v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{SDB: quantity("1Gi")}}, v1alpha1.ReasonBootstrapInvalid, "False", []string{"spec.osDisk"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.cluster, nil, secret("short", "s3cr3t"), secret("big", big), secret("typo", "#!/bin/sh\n${KARPENTER_NAME}\n"), secret("bare", "#!/bin/sh\ntrue\n"))
			found := w.backend.Check(t.Context(), classWith(test.spec))
			if found.Reason != test.reason || found.Status != test.status {
				t.Errorf("found %+v, expected %s with %s", found, test.status, test.reason)
			}
			for _, word := range test.words {
				if !strings.Contains(found.Message, word) {
					t.Errorf("the message %q lacks %q", found.Message, word)
				}
			}
			if strings.Contains(found.Message, "s3cr3t") {
				t.Errorf("the message has a secret in it: %s", found.Message)
			}
		})
	}
}

func TestFieldsOfTheClassReachTheRequest(t *testing.T) {
	nat, yes, swap, firewall, vpc, subnet := false, true, 0, 7, 3, 30
	spec := v1alpha1.LinodeNodeClassSpec{
		Image: "linode/ubuntu22.04", FirewallID: &firewall, VPCID: &vpc, SubnetID: &subnet, DiskEncryption: v1alpha1.DiskEncryptionEnabled, SwapSize: &swap,
		OSDisk: &v1alpha1.Disk{Size: resourceOf("20Gi")}, DataDisks: &v1alpha1.DataDisks{SDC: &v1alpha1.Disk{Size: resourceOf("10Gi"), Label: "data"}},
		Configuration: &v1alpha1.Configuration{Kernel: "linode/grub2"}, AuthorizedUsers: []string{"alice"}, BackupsEnabled: &yes, MaintenancePolicy: "linode/migrate",
		Interfaces: []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}, {Type: v1alpha1.InterfaceVPC, NAT: &nat}},
	}
	w := newWorld(t, known, func(c *instancemode.Config) {
		c.Generation = func(context.Context) (instances.Generation, error) { return instances.GenerationLinode, nil }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is asked for is enough
	_, _ = w.backend.Claim(ctx, launch(classWith(spec)))
	got := w.engine.specs[0]
	if got.Region != "us-ord" || got.Plan != "g6-standard-1" || got.Image != "linode/ubuntu22.04" || got.Kernel != "linode/grub2" || !got.Backups || got.MaintenancePolicy != "linode/migrate" {
		t.Errorf("the request is %+v", got)
	}
	if s := got.Storage; s.BootMB != 20480 || s.SwapMB == nil || *s.SwapMB != 0 || s.Encryption != "enabled" || len(s.Data) != 1 || s.Data[0] != (instances.Disk{Label: "data", SizeMB: 10240}) {
		t.Errorf("the disks are %+v", s)
	}
	n := got.Network
	if n.FirewallID != 7 || n.Generation != instances.GenerationLinode || len(n.Interfaces) != 2 || !n.Interfaces[0].Public || n.Interfaces[0].Primary ||
		n.Interfaces[1].VPC == nil || *n.Interfaces[1].VPC != (instances.VPCInterface{SubnetID: 30}) || !n.Interfaces[1].Primary {
		t.Errorf("the network is %+v", n)
	}
	w.engine.specs = nil
	_, _ = w.backend.Claim(ctx, launch(classWith(v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet})))
	if n := w.engine.specs[0].Network; len(n.Interfaces) != 1 || n.Interfaces[0].VPC == nil || !n.Interfaces[0].VPC.NAT || !n.Interfaces[0].Primary {
		t.Errorf("with a VPC alone the network is %+v", n)
	}
}

// refusing answers for placement groups that are full.
type refusing struct {
	instancemode.Engine
	full  []int
	tried []int
}

func (r *refusing) Create(_ context.Context, spec instances.Spec) (instances.Instance, error) {
	r.tried = append(r.tried, spec.PlacementGroup.ID)
	if slices.Contains(r.full, spec.PlacementGroup.ID) {
		return instances.Instance{}, &instances.Error{Kind: instances.KindQuotaExceeded, Op: "create", Field: "Spec.PlacementGroup", Err: context.DeadlineExceeded}
	}
	return instances.Instance{ID: 1, PlacementGroup: spec.PlacementGroup.ID}, nil
}

type groups map[int]status.PlacementGroup

func (g groups) PlacementGroup(_ context.Context, id int) (*status.PlacementGroup, error) {
	found := g[id]
	return &found, nil
}

func TestPlacementGroupsAreFilledOneAfterAnother(t *testing.T) {
	class := classWith(v1alpha1.LinodeNodeClassSpec{PlacementGroups: []v1alpha1.PlacementGroup{{ID: 1}, {ID: 2}, {ID: 3}}})
	for _, test := range []struct {
		name  string
		full  []int // as the API says
		known groups
		tried []int
		kind  lkepool.Kind
	}{
		{"the first has room", nil, groups{}, []int{1}, ""},
		{"the first is full", []int{1}, groups{}, []int{1, 2}, ""},
		{"the first is known to be full", []int{1}, groups{1: {Members: 5, Limit: 5}}, []int{2}, ""},
		{"all are full", []int{1, 2, 3}, groups{}, []int{1, 2, 3}, lkepool.KindInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := &refusing{full: test.full}
			w := newWorld(t, known, func(c *instancemode.Config) { c.Engine, c.Groups = engine, test.known })
			_, err := w.backend.Claim(t.Context(), launch(class))
			if lkepool.KindOf(err) != test.kind || !slices.Equal(engine.tried, test.tried) {
				t.Errorf("tried %v with %v, expected %v with %q", engine.tried, err, test.tried, test.kind)
			}
		})
	}
}

func TestDriftIsFoundFromTheLinodeAsItWasRead(t *testing.T) {
	is := instances.Instance{ID: 1, Region: "us-ord", Image: "private/1", PlacementGroup: 5}
	for _, test := range []struct {
		name   string
		change func(*instances.Instance, *v1alpha1.LinodeNodeClass)
		want   core.DriftReason
	}{
		{"as it would be made", func(*instances.Instance, *v1alpha1.LinodeNodeClass) {}, ""},
		{"another image, ignored", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) { c.Status.Images[0].ID = "private/2" }, ""},
		{"another image, replaced", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Status.Images[0].ID, c.Spec.ImageDriftPolicy = "private/2", v1alpha1.ImageDriftReplace
		}, cloudprovider.DriftImage},
		{"another region", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Region = "de-fra-2" }, cloudprovider.DriftRegion},
		{"in a group of the class", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Spec.PlacementGroups = []v1alpha1.PlacementGroup{{ID: 4}, {ID: 5}}
		}, ""},
		{"in another group", func(_ *instances.Instance, c *v1alpha1.LinodeNodeClass) {
			c.Spec.PlacementGroup = &v1alpha1.PlacementGroup{ID: 6}
		}, cloudprovider.DriftPlacementGroup},
		{"stopped", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = instances.Stopped }, cloudprovider.DriftInstanceStopped},
		{"going", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = instances.Deleting }, cloudprovider.DriftInstanceGone},
		{"being finished", func(i *instances.Instance, _ *v1alpha1.LinodeNodeClass) { i.Health = instances.Unfinished }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			instance, class := is, classWith(v1alpha1.LinodeNodeClassSpec{ImageSelector: &v1alpha1.ImageSelector{Label: "k-*"}})
			class.Status.Images = []v1alpha1.Image{{ID: "private/1"}}
			test.change(&instance, class)
			w := newWorld(t, known, func(c *instancemode.Config) { c.Engine = listing{instance: instance} })
			listed, err := w.backend.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := w.backend.Drift(listed[0], launch(class)); got != test.want {
				t.Errorf("the drift is %q, expected %q", got, test.want)
			}
		})
	}
}

type listing struct {
	instancemode.Engine
	instance instances.Instance
}

func (l listing) List(context.Context) ([]instances.Instance, error) {
	return []instances.Instance{l.instance}, nil
}

// Only where the operator installs Kubernetes a replacement has another version.
func TestVersionIsDriftWhereTheOperatorInstallsIt(t *testing.T) {
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
		{"rke2 of the image", &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapRKE2, InstallerURL: "none"}, "v1.34.1+rke2r1", false},
	} {
		w := newWorld(t, known, nil)
		if got := w.backend.Outdated(test.kubelet, "v1.35.2", launch(classWith(v1alpha1.LinodeNodeClassSpec{Bootstrap: test.bootstrap}))); got != test.want {
			t.Errorf("%s: outdated is %t, expected %t", test.name, got, test.want)
		}
	}
}

// failing answers everything with one error.
type failing struct {
	instancemode.Engine
	err error
}

func (f failing) Delete(context.Context, int, instances.Claimant) error { return f.err }

func TestErrorsKeepKindEffectAndField(t *testing.T) {
	for is, want := range map[instances.Kind]lkepool.Kind{
		instances.KindProvisioning: lkepool.KindProvisioning, instances.KindInsufficientCapacity: lkepool.KindInsufficientCapacity,
		instances.KindQuotaExceeded: lkepool.KindQuotaExceeded, instances.KindRateLimited: lkepool.KindRateLimited, instances.KindInvalid: lkepool.KindInvalid,
		instances.KindNotFound: lkepool.KindNotFound, instances.KindConflict: lkepool.KindConflict, instances.KindForbidden: lkepool.KindForbidden,
		instances.KindUnavailable: lkepool.KindUnavailable,
	} {
		w := newWorld(t, known, func(c *instancemode.Config) {
			c.Engine = failing{err: &instances.Error{Kind: is, Op: "create", Field: "Spec.Plan", InstanceID: 7, Effect: instances.EffectApplied, Err: context.DeadlineExceeded}}
		})
		err := w.backend.Release(t.Context(), 7, lkepool.Claimant{Name: "a"})
		var got *lkepool.Error
		if !errors.As(err, &got) || got.Kind != want || got.Field != "type" || got.Effect != lkepool.EffectApplied || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "instance 7") {
			t.Errorf("%s becomes %v", is, err)
		}
	}
}
