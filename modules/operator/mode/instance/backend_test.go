package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
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
	if node.Name != "own-default-x7k2p" || node.InstanceType != "g6-standard-1" || node.Claim != "default-x7k2p" {
		t.Errorf("the node is %+v", node)
	}
	for _, tag := range []string{"karpenter.sh/nodepool=default", "kubernetes.io/cluster/own=owned",
		"karpenter.k8s.linode/linodenodeclass=default", "team=a", instances.Config{Cluster: "own", ClusterUID: "cluster-uid"}.ClusterTag()} {
		if !slices.Contains(node.Tags, tag) {
			t.Errorf("the tags %v lack %s", node.Tags, tag)
		}
	}
	if listed, err := w.backend.List(t.Context()); err != nil || len(listed) != 1 || listed[0].InstanceID != node.InstanceID {
		t.Errorf("the list is %+v, %v", listed, err)
	}
	other := claims.Claimant{Name: "default-other", UID: "uid-2"}
	if err := w.backend.Release(t.Context(), node.InstanceID, other); claims.KindOf(err) != claims.KindConflict {
		t.Errorf("another NodeClaim removes it: %v", err)
	}
	if err := w.backend.Release(t.Context(), node.InstanceID, claims.Claimant{Name: "default-x7k2p", UID: "uid-1"}); err != nil {
		t.Fatal(err)
	}
	if left := w.sim.Snapshot().Instances; len(left) != 0 {
		t.Errorf("%d Linodes are left", len(left))
	}
	if _, err := w.backend.Get(t.Context(), node.InstanceID); claims.KindOf(err) != claims.KindNotFound {
		t.Errorf("the Linode is gone, and Get gives %v", err)
	}
}

func TestLinodesOfNodeClaimsThatExistAreNotCollectedAndTakeTags(t *testing.T) {
	w := newWorld(t, known, nil)
	node, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{})))
	if err != nil {
		t.Fatal(err)
	}
	alive := func(context.Context) ([]claims.Claimant, error) {
		return []claims.Claimant{{Name: "default-x7k2p", UID: "uid-1"}}, nil
	}
	if collected, err := w.backend.Collect(t.Context(), claims.Sweep{Alive: alive}); err != nil || len(collected.Removed) != 0 {
		t.Errorf("collected %+v, %v", collected, err)
	}
	if err := w.backend.SetTags(t.Context(), node.InstanceID, claims.Claimant{Name: "default-x7k2p", UID: "uid-1"}, nil,
		[]string{"new=tag"}); err != nil {
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
	for _, row := range bootstrap.Types() {
		t.Run(row.Name, func(t *testing.T) {
			b := &v1alpha1.Bootstrap{Type: v1alpha1.BootstrapType(row.Name)}
			if row.Installer == "" && !row.UserData {
				b.PreJoinCommands = []string{"apt-get install --yes kubeadm"}
			}
			if row.Token == bootstrap.SharedToken {
				b.TokenSecretRef = ref("agent")
			}
			switch {
			case row.Missing != nil:
				b.UserDataSecretRef = ref("text")
			case row.UserData:
				b.UserDataSecretRef = ref("machine")
			}
			w := newWorld(t, known, nil, secret("agent", agentToken+"\n"),
				secret("machine", "version: v1alpha1\nmachine: {type: worker, token: t}\n"),
				secret("text", "#!/bin/sh\nhostname ${KARPENTER_NODE_NAME}\nkubelet ${KARPENTER_KUBELET_ARGS}\n"))
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
			for _, part := range []string{"own-default-x7k2p", "karpenter.sh/unregistered", "dedicated", "starting", "42", "external",
				"karpenter.sh/nodepool", "team", "topology.kubernetes.io/zone"} {
				if !strings.Contains(data, part) {
					t.Errorf("the user data lacks %q:\n%s", part, data)
				}
			}
			if hasToken := strings.Contains(data, token); hasToken != (row.Token == bootstrap.NodeToken) {
				t.Errorf("a bootstrap token is in the user data: %t", hasToken)
			}
		})
	}
}

// A bootstrap token lives in the cluster, so a launch that cannot go on makes none.
func TestNoTokenIsIssuedBeforeTheRestIsKnown(t *testing.T) {
	w := newWorld(t, joined{}, nil)
	_, err := w.backend.Claim(t.Context(), launch(classWith(v1alpha1.LinodeNodeClassSpec{})))
	if claims.KindOf(err) != claims.KindInvalid || !strings.Contains(err.Error(), "settings.clusterEndpoint") {
		t.Errorf("without an endpoint the launch gives %v", err)
	}
	if len(w.tokens.issued) != 0 {
		t.Error("a token is issued for a node that cannot join")
	}
}

// The API server takes exactly the types that the table has.
func TestTheSchemaHasTheTypesOfTheTable(t *testing.T) {
	schema := crds.CRDs[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["bootstrap"].Properties["type"]
	var taken, rows []string
	for _, value := range schema.Enum {
		var name string
		if err := json.Unmarshal(value.Raw, &name); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, name)
	}
	for _, row := range bootstrap.Types() {
		rows = append(rows, row.Name)
	}
	if slices.Sort(taken); !slices.Equal(taken, rows) {
		t.Errorf("the schema has %q, the table %q", taken, rows)
	}
}

func TestFieldsOfTheClassReachTheRequest(t *testing.T) {
	nat, yes, swap, firewall, vpc, subnet := false, true, 0, 7, 3, 30
	spec := v1alpha1.LinodeNodeClassSpec{
		Image: "linode/ubuntu22.04", FirewallID: &firewall, VPCID: &vpc, SubnetID: &subnet, DiskEncryption: v1alpha1.DiskEncryptionEnabled,
		SwapSize:      &swap,
		OSDisk:        &v1alpha1.Disk{Size: resourceOf("20Gi")},
		DataDisks:     &v1alpha1.DataDisks{SDC: &v1alpha1.Disk{Size: resourceOf("10Gi"), Label: "data"}},
		Configuration: &v1alpha1.Configuration{Kernel: "linode/grub2"}, AuthorizedUsers: []string{"alice"}, BackupsEnabled: &yes,
		MaintenancePolicy: "linode/migrate",
		Interfaces:        []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}, {Type: v1alpha1.InterfaceVPC, NAT: &nat}},
	}
	w := newWorld(t, known, func(c *instance.Config) {
		c.Generation = func(context.Context) (instances.Generation, error) { return instances.GenerationLinode, nil }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the request is enough
	_, _ = w.backend.Claim(ctx, launch(classWith(spec)))
	got := w.engine.specs[0]
	if got.Region != "us-ord" || got.InstanceType != "g6-standard-1" || got.Image != "linode/ubuntu22.04" || got.Kernel != "linode/grub2" ||
		!got.Backups || got.MaintenancePolicy != "linode/migrate" {
		t.Errorf("the request is %+v", got)
	}
	if s := got.Storage; s.BootMB != 20480 || s.SwapMB == nil || *s.SwapMB != 0 || s.Encryption != "enabled" || len(s.Data) != 1 ||
		s.Data[0] != (instances.Disk{Label: "data", SizeMB: 10240}) {
		t.Errorf("the disks are %+v", s)
	}
	n := got.Network
	if n.FirewallID != 7 || n.Generation != instances.GenerationLinode || len(n.Interfaces) != 2 || !n.Interfaces[0].Public ||
		n.Interfaces[0].Primary ||
		n.Interfaces[1].VPC == nil || *n.Interfaces[1].VPC != (instances.VPCInterface{SubnetID: 30}) || !n.Interfaces[1].Primary {
		t.Errorf("the network is %+v", n)
	}
	w.engine.specs = nil
	_, _ = w.backend.Claim(ctx, launch(classWith(v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet})))
	if n := w.engine.specs[0].Network; len(n.Interfaces) != 1 || n.Interfaces[0].VPC == nil || !n.Interfaces[0].VPC.NAT ||
		!n.Interfaces[0].Primary {
		t.Errorf("with a VPC alone the network is %+v", n)
	}
}

// The interface in the VPC gets the IPv6 addresses of the class; without such an interface, no address is requested.
func TestIPv6OptionsReachTheInterfaceInTheVPC(t *testing.T) {
	yes, vpc, subnet := true, 3, 30
	asked := &v1alpha1.IPv6Options{EnableSLAAC: &yes, EnableRanges: []string{"/64"}, IsPublicIPv6: &yes}
	public := v1alpha1.Interface{Type: v1alpha1.InterfacePublic}
	for name, c := range map[string]struct {
		spec v1alpha1.LinodeNodeClassSpec
		at   int // the interface that gets it, -1 for none
	}{
		"a VPC": {v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet, IPv6Options: asked}, 0},
		"a VPC and a public one": {v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet, IPv6Options: asked,
			Interfaces: []v1alpha1.Interface{public, {Type: v1alpha1.InterfaceVPC}}}, 1},
		"options that ask for nothing": {v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet,
			IPv6Options: &v1alpha1.IPv6Options{IsPublicIPv6: &yes}}, -1},
		"no VPC": {v1alpha1.LinodeNodeClassSpec{IPv6Options: asked}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, known, nil)
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the request is enough
			_, _ = w.backend.Claim(ctx, launch(classWith(c.spec)))
			at := -1
			for n, i := range w.engine.specs[0].Network.Interfaces {
				if i.VPC == nil || i.VPC.IPv6 == nil {
					continue
				}
				at = n
				if got := i.VPC.IPv6; !got.SLAAC || !slices.Equal(got.Ranges, []string{"/64"}) || got.Public == nil || !*got.Public {
					t.Errorf("the interface asks for %+v", got)
				}
			}
			if at != c.at {
				t.Errorf("interface %d has IPv6, expected %d", at, c.at)
			}
		})
	}
}

// The public interface gets the ranges where no interface is in a VPC, and where it is a Linode interface. The API has them then.
func TestIPv6RangesReachThePublicInterface(t *testing.T) {
	vpc, subnet := 3, 30
	asked := &v1alpha1.IPv6Options{EnableRanges: []string{"/64", "/56"}}
	public := []v1alpha1.Interface{{Type: v1alpha1.InterfacePublic}}
	for name, c := range map[string]struct {
		generation instances.Generation
		spec       v1alpha1.LinodeNodeClassSpec
		want       []string
	}{
		"nothing else set": {instances.GenerationLinode, v1alpha1.LinodeNodeClassSpec{IPv6Options: asked}, asked.EnableRanges},
		"a public interface": {instances.GenerationLinode, v1alpha1.LinodeNodeClassSpec{IPv6Options: asked, Interfaces: public},
			asked.EnableRanges},
		"legacy interfaces": {instances.GenerationLegacy, v1alpha1.LinodeNodeClassSpec{IPv6Options: asked, Interfaces: public}, nil},
		"beside one in a VPC": {instances.GenerationLinode,
			v1alpha1.LinodeNodeClassSpec{VPCID: &vpc, SubnetID: &subnet, IPv6Options: asked,
				Interfaces: []v1alpha1.Interface{public[0], {Type: v1alpha1.InterfaceVPC}}}, nil},
		"without any, on legacy": {instances.GenerationLegacy, v1alpha1.LinodeNodeClassSpec{IPv6Options: asked}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, known, func(config *instance.Config) {
				config.Generation = func(context.Context) (instances.Generation, error) { return c.generation, nil }
			})
			node, err := w.backend.Claim(t.Context(), launch(classWith(c.spec)))
			var got []string
			for _, i := range w.engine.specs[0].Network.Interfaces {
				got = append(got, i.Ranges...)
			}
			if !slices.Equal(got, c.want) || len(got) > 0 && err != nil {
				t.Errorf("the interfaces ask for %q, %v; want %q", got, err, c.want)
			}
			if len(got) == 0 {
				return
			}
			interfaces, err := w.api.ListInterfaces(t.Context(), node.InstanceID)
			if err != nil {
				t.Fatal(err)
			}
			ranges, _ := (*interfaces.Interfaces[0].Public)["ipv6"].(map[string]any)["ranges"].([]any)
			if len(ranges) != len(c.want) {
				t.Errorf("the Linode has %v, want one range of each of %q", ranges, c.want)
			}
		})
	}
}

// refusing answers for placement groups that are full.
type refusing struct {
	instance.Engine
	full  []int
	tried []int
}

func (r *refusing) Create(_ context.Context, spec instances.Spec) (instances.Instance, error) {
	r.tried = append(r.tried, spec.PlacementGroup.ID)
	if slices.Contains(r.full, spec.PlacementGroup.ID) {
		return instances.Instance{}, &claims.Error{Kind: claims.KindQuotaExceeded, Op: "create", Field: "Spec.PlacementGroup",
			Err: context.DeadlineExceeded}
	}
	return instances.Instance{Node: claims.Node{InstanceID: 1}, PlacementGroup: spec.PlacementGroup.ID}, nil
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
		kind  claims.Kind
	}{
		{"the first has room", nil, groups{}, []int{1}, ""},
		{"the first is full", []int{1}, groups{}, []int{1, 2}, ""},
		{"the first is known to be full", []int{1}, groups{1: {Members: 5, Limit: 5}}, []int{2}, ""},
		{"all are full", []int{1, 2, 3}, groups{}, []int{1, 2, 3}, claims.KindInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := &refusing{full: test.full}
			w := newWorld(t, known, func(c *instance.Config) { c.Engine, c.Groups = engine, test.known })
			_, err := w.backend.Claim(t.Context(), launch(class))
			if claims.KindOf(err) != test.kind || !slices.Equal(engine.tried, test.tried) {
				t.Errorf("tried %v with %v, expected %v with %q", engine.tried, err, test.tried, test.kind)
			}
			if e, is := errors.AsType[*claims.Error](err); is && (e.Field != claims.FieldPlacementGroups || e.Effect != claims.EffectNone) {
				t.Errorf("%v does not show that the groups are full", err)
			}
		})
	}
}

// failing answers everything with one error.
type failing struct {
	instance.Engine
	err error
}

func (f failing) Delete(context.Context, int, claims.Claimant) error { return f.err }

func TestErrorsOfTheEngineAreReturnedUnchanged(t *testing.T) {
	refused := &claims.Error{Kind: claims.KindConflict, Op: "delete", Object: "instance 7", Effect: claims.EffectNone,
		Err: context.DeadlineExceeded}
	w := newWorld(t, known, func(c *instance.Config) { c.Engine = failing{err: refused} })
	if err := w.backend.Release(t.Context(), 7, claims.Claimant{Name: "a"}); !errors.Is(err, error(refused)) {
		t.Errorf("got %v", err)
	}
}
