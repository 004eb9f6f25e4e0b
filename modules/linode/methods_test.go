package linode_test

import (
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// drained reads an iteration to its end.
func drained[T any](entries func(func(T, error) bool)) error {
	_, err := linode.Collect(entries)
	return err
}

// second drops the answer of a call.
func second[T any](_ T, err error) error { return err }

// calls has a call for every operation that the client offers.
var calls = map[api.OperationID]func(context.Context, *linode.Client) error{
	api.OpBootInstance: func(ctx context.Context, c *linode.Client) error { return c.BootInstance(ctx, 5, api.InstanceBoot{}) },
	api.OpCreateFirewallDevice: func(ctx context.Context, c *linode.Client) error {
		return second(c.CreateFirewallDevice(ctx, 5, api.FirewallDeviceCreate{}))
	},
	api.OpDeleteFirewallDevice: func(ctx context.Context, c *linode.Client) error { return c.DeleteFirewallDevice(ctx, 5, 6) },
	api.OpListFirewallDevices:  func(ctx context.Context, c *linode.Client) error { return drained(c.ListFirewallDevices(ctx, 5)) },
	api.OpCreateInstance: func(ctx context.Context, c *linode.Client) error {
		return second(c.CreateInstance(ctx, api.InstanceCreate{}))
	},
	api.OpCreateInstanceConfig: func(ctx context.Context, c *linode.Client) error {
		return second(c.CreateConfig(ctx, 5, api.InstanceConfigCreate{}))
	},
	api.OpCreateInstanceDisk: func(ctx context.Context, c *linode.Client) error {
		return second(c.CreateDisk(ctx, 5, api.InstanceDiskCreate{}))
	},
	api.OpCreateLKENodePool: func(ctx context.Context, c *linode.Client) error {
		return second(c.CreatePool(ctx, 5, api.LKENodePoolCreate{}))
	},
	api.OpCreateTag:            func(ctx context.Context, c *linode.Client) error { return second(c.CreateTag(ctx, api.TagCreate{})) },
	api.OpDeleteInstance:       func(ctx context.Context, c *linode.Client) error { return c.DeleteInstance(ctx, 5) },
	api.OpDeleteInstanceConfig: func(ctx context.Context, c *linode.Client) error { return c.DeleteConfig(ctx, 5, 6) },
	api.OpDeleteInstanceDisk:   func(ctx context.Context, c *linode.Client) error { return c.DeleteDisk(ctx, 5, 6) },
	api.OpDeleteLKENode:        func(ctx context.Context, c *linode.Client) error { return c.DeleteNode(ctx, 5, "6-a") },
	api.OpDeleteLKENodePool:    func(ctx context.Context, c *linode.Client) error { return c.DeletePool(ctx, 5, 6) },
	api.OpDeleteTag:            func(ctx context.Context, c *linode.Client) error { return c.DeleteTag(ctx, "a=b/c") },
	api.OpGetAccountAvailability: func(ctx context.Context, c *linode.Client) error {
		return second(c.GetAccountAvailability(ctx, "au-mel"))
	},
	api.OpGetAccountSettings:  func(ctx context.Context, c *linode.Client) error { return second(c.GetAccountSettings(ctx)) },
	api.OpGetFirewall:         func(ctx context.Context, c *linode.Client) error { return second(c.GetFirewall(ctx, 5)) },
	api.OpGetFirewallSettings: func(ctx context.Context, c *linode.Client) error { return second(c.GetFirewallSettings(ctx)) },
	api.OpGetImage: func(ctx context.Context, c *linode.Client) error {
		return second(c.GetImage(ctx, "linode/ubuntu22.04"))
	},
	api.OpGetInstance:             func(ctx context.Context, c *linode.Client) error { return second(c.GetInstance(ctx, 5)) },
	api.OpGetInstanceConfig:       func(ctx context.Context, c *linode.Client) error { return second(c.GetConfig(ctx, 5, 6)) },
	api.OpGetInstanceDisk:         func(ctx context.Context, c *linode.Client) error { return second(c.GetDisk(ctx, 5, 6)) },
	api.OpGetInstanceIPs:          func(ctx context.Context, c *linode.Client) error { return second(c.GetInstanceIPs(ctx, 5)) },
	api.OpGetInstanceInterface:    func(ctx context.Context, c *linode.Client) error { return second(c.GetInterface(ctx, 5, 6)) },
	api.OpGetLKECluster:           func(ctx context.Context, c *linode.Client) error { return second(c.GetCluster(ctx, 5)) },
	api.OpGetLKEClusterKubeconfig: func(ctx context.Context, c *linode.Client) error { return second(c.GetKubeconfig(ctx, 5)) },
	api.OpGetLKENode:              func(ctx context.Context, c *linode.Client) error { return second(c.GetNode(ctx, 5, "6-a")) },
	api.OpGetLKENodePool:          func(ctx context.Context, c *linode.Client) error { return second(c.GetPool(ctx, 5, 6)) },
	api.OpGetLKETierVersion: func(ctx context.Context, c *linode.Client) error {
		return second(c.GetTierVersion(ctx, "enterprise", "v1.33.6+lke7"))
	},
	api.OpGetLKEVersion:           func(ctx context.Context, c *linode.Client) error { return second(c.GetVersion(ctx, "1.35")) },
	api.OpGetPlacementGroup:       func(ctx context.Context, c *linode.Client) error { return second(c.GetPlacementGroup(ctx, 5)) },
	api.OpGetProfile:              func(ctx context.Context, c *linode.Client) error { return second(c.GetProfile(ctx)) },
	api.OpGetRegion:               func(ctx context.Context, c *linode.Client) error { return second(c.GetRegion(ctx, "au-mel")) },
	api.OpGetRegionAvailability:   func(ctx context.Context, c *linode.Client) error { return second(c.RegionAvailability(ctx, "au-mel")) },
	api.OpGetType:                 func(ctx context.Context, c *linode.Client) error { return second(c.GetType(ctx, "g6-standard-2")) },
	api.OpGetVPC:                  func(ctx context.Context, c *linode.Client) error { return second(c.GetVPC(ctx, 5)) },
	api.OpGetVPCSubnet:            func(ctx context.Context, c *linode.Client) error { return second(c.GetSubnet(ctx, 5, 6)) },
	api.OpListAccountAvailability: func(ctx context.Context, c *linode.Client) error { return drained(c.ListAccountAvailability(ctx)) },
	api.OpListHostMaintenance: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListHostMaintenance(ctx, linode.Filter{}))
	},
	api.OpListFirewalls: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListFirewalls(ctx, linode.Filter{}))
	},
	api.OpListImages: func(ctx context.Context, c *linode.Client) error { return drained(c.ListImages(ctx, linode.Filter{})) },
	api.OpListInstanceConfigs: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListConfigs(ctx, 5, linode.Filter{}))
	},
	api.OpListInstanceDisks:      func(ctx context.Context, c *linode.Client) error { return drained(c.ListDisks(ctx, 5)) },
	api.OpListInstanceInterfaces: func(ctx context.Context, c *linode.Client) error { return second(c.ListInterfaces(ctx, 5)) },
	api.OpListInstances: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListInstances(ctx, linode.Filter{}))
	},
	api.OpListLKEClusterAPIEndpoints: func(ctx context.Context, c *linode.Client) error { return drained(c.ListAPIEndpoints(ctx, 5)) },
	api.OpListLKEClusters: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListClusters(ctx, linode.Filter{}))
	},
	api.OpListLKENodePools: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListPools(ctx, 5, linode.Filter{}))
	},
	api.OpListLKETierVersions: func(ctx context.Context, c *linode.Client) error { return drained(c.ListTierVersions(ctx, "standard")) },
	api.OpListLKETypes: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListLKETypes(ctx, linode.Filter{}))
	},
	api.OpListLKEVersions: func(ctx context.Context, c *linode.Client) error { return drained(c.ListVersions(ctx)) },
	api.OpListPlacementGroups: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListPlacementGroups(ctx, linode.Filter{}))
	},
	api.OpListRegions: func(ctx context.Context, c *linode.Client) error { return drained(c.ListRegions(ctx, linode.Filter{})) },
	api.OpListRegionsAvailability: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListAvailability(ctx, linode.Filter{}))
	},
	api.OpListTags:  func(ctx context.Context, c *linode.Client) error { return drained(c.ListTags(ctx)) },
	api.OpListTypes: func(ctx context.Context, c *linode.Client) error { return drained(c.ListTypes(ctx, linode.Filter{})) },
	api.OpListVPCSubnets: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListSubnets(ctx, 5, linode.Filter{}))
	},
	api.OpListVPCs:       func(ctx context.Context, c *linode.Client) error { return drained(c.ListVPCs(ctx, linode.Filter{})) },
	api.OpRecycleLKENode: func(ctx context.Context, c *linode.Client) error { return c.RecycleNode(ctx, 5, "6-a") },
	api.OpListInstanceFirewalls: func(ctx context.Context, c *linode.Client) error {
		return drained(c.ListInstanceFirewalls(ctx, 5, linode.Filter{}))
	},
	api.OpSetInstanceFirewalls: func(ctx context.Context, c *linode.Client) error {
		return second(c.SetInstanceFirewalls(ctx, 5, api.InstanceFirewallsUpdate{}))
	},
	api.OpRecycleLKENodePool: func(ctx context.Context, c *linode.Client) error { return c.RecyclePool(ctx, 5, 6) },
	api.OpRebootInstance:     func(ctx context.Context, c *linode.Client) error { return c.RebootInstance(ctx, 5, api.InstanceBoot{}) },
	api.OpShutdownInstance:   func(ctx context.Context, c *linode.Client) error { return c.ShutdownInstance(ctx, 5) },
	api.OpUpdateInstance: func(ctx context.Context, c *linode.Client) error {
		return second(c.UpdateInstance(ctx, 5, api.InstanceUpdate{}))
	},
	api.OpUpdateInstanceConfig: func(ctx context.Context, c *linode.Client) error {
		return second(c.UpdateConfig(ctx, 5, 6, api.InstanceConfigUpdate{}))
	},
	api.OpUpdateLKENodePool: func(ctx context.Context, c *linode.Client) error {
		return second(c.UpdatePool(ctx, 5, 6, api.LKENodePoolUpdate{}))
	},
}

// notOffered are described and simulated for what their answers show and for other clients; the provider neither creates
// nor deletes clusters, firewalls, images, placement groups and VPCs.
var notOffered = []api.OperationID{
	api.OpCreateLKECluster, api.OpDeleteLKECluster, api.OpCreateFirewall, api.OpDeleteFirewall,
	api.OpCreateImage, api.OpDeleteImage, api.OpCreatePlacementGroup, api.OpUpdatePlacementGroup, api.OpDeletePlacementGroup,
	api.OpAssignPlacementGroup, api.OpUnassignPlacementGroup, api.OpCreateVPC, api.OpDeleteVPC,
	api.OpUpdateLKECluster, api.OpRecycleLKECluster, api.OpRegenerateLKECluster, api.OpDeleteLKEClusterKubeconfig,
	api.OpDeleteLKEClusterServiceToken, api.OpGetLKEControlPlaneACL, api.OpUpdateLKEControlPlaneACL, api.OpDeleteLKEControlPlaneACL,
	api.OpListAccountEvents, api.OpGetFirewallTemplate, api.OpListAllVPCIPs, api.OpListFirewallTemplates, api.OpListVPCDefaultRanges,
	api.OpUpdateFirewallSettings,
	api.OpAttachVolume, api.OpCloneVolume, api.OpCreateNodeBalancer, api.OpCreateNodeBalancerConfig, api.OpCreateNodeBalancerNode,
	api.OpCreateVolume, api.OpDeleteNodeBalancer, api.OpDeleteNodeBalancerConfig, api.OpDeleteNodeBalancerNode, api.OpDeleteVolume,
	api.OpDetachVolume, api.OpGetFirewallRules, api.OpGetNodeBalancer, api.OpGetNodeBalancerConfig, api.OpGetNodeBalancerNode,
	api.OpGetVolume, api.OpListInstanceVolumes, api.OpListNodeBalancerConfigs,
	api.OpListNodeBalancerFirewalls, api.OpListNodeBalancerVPCs, api.OpListNodeBalancerNodes, api.OpListNodeBalancers, api.OpListVolumes,
	api.OpRebuildNodeBalancerConfig, api.OpResizeVolume, api.OpUpdateFirewall,
	api.OpUpdateFirewallRules, api.OpUpdateNodeBalancer, api.OpUpdateNodeBalancerConfig, api.OpUpdateNodeBalancerNode,
	api.OpUpdateVolume,
	api.OpAppendInstanceConfigInterface, api.OpCreateVPCSubnet, api.OpDeleteInstanceConfigInterface, api.OpDeleteVPCSubnet,
	api.OpGetInstanceConfigInterface, api.OpListInstanceConfigInterfaces, api.OpListVPCIPs, api.OpListVPCIPv6s,
	api.OpRebootInstance, api.OpReorderInstanceConfigInterfaces,
	api.OpUpdateAccountSettings, api.OpUpdateInstanceConfigInterface, api.OpUpdateVPC,
	api.OpUpdateVPCSubnet,

	api.OpGetFirewallDevice,
	api.OpListInstanceInterfaceFirewalls, api.OpUpdateInstanceInterface,
	api.OpAddInstanceIP, api.OpDeleteInstanceIP, api.OpShareIPs,
}

// TestEveryMethodSendsItsOperation compares what each method sends and reports with the description.
func TestEveryMethodSendsItsOperation(t *testing.T) {
	for _, operation := range api.Operations() {
		call := calls[operation.ID]
		if call == nil {
			if !slices.Contains(notOffered, operation.ID) {
				t.Errorf("no method for %s", operation.ID)
			}
			continue
		}
		t.Run(string(operation.ID), func(t *testing.T) {
			var sent *http.Request
			var told linode.Call
			s := &server{answer: func(_ int, r *http.Request) (*http.Response, error) {
				sent = r
				switch {
				case operation.Paginated:
					return reply(200, emptyPage)
				case operation.ID == api.OpGetRegionAvailability:
					return reply(200, `[]`)
				}
				return reply(200, `{}`)
			}}
			client := newClient(t, s, func(c *linode.Config) { c.Observer = func(call linode.Call) { told = call } })
			if err := call(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			pattern := "^/v4beta" + regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(operation.Route), "[^/]+") + "$"
			if sent.Method != operation.Method || !regexp.MustCompile(pattern).MatchString(sent.URL.EscapedPath()) {
				t.Errorf("sent %s %s for %s %s", sent.Method, sent.URL.EscapedPath(), operation.Method, operation.Route)
			}
			if told.Operation != string(operation.ID) || told.Route != operation.Route || told.Method != operation.Method ||
				told.RateClass != string(operation.Class) {
				t.Errorf("told %+v", told)
			}
			if paged := sent.URL.Query().Get("page_size") == "500"; paged != operation.Paginated {
				t.Errorf("query %q, paginated %v", sent.URL.RawQuery, operation.Paginated)
			}
		})
	}
}

// TestPoolUpdateSendsWhatIsSet shows what a PUT can contain: nothing, values, and empty ones, which clear.
func TestPoolUpdateSendsWhatIsSet(t *testing.T) {
	rows := []struct {
		name   string
		update api.LKENodePoolUpdate
		want   string
	}{
		{"count alone", api.LKENodePoolUpdate{Count: new(0)}, `{"count":0}`},
		{"cleared", api.LKENodePoolUpdate{Labels: &map[string]string{}, Taints: &[]api.LKETaint{}, Tags: &[]string{}},
			`{"labels":{},"tags":[],"taints":[]}`},
		{"set", api.LKENodePoolUpdate{
			Labels: &map[string]string{"a": "b"},
			Taints: &[]api.LKETaint{{Key: "k", Effect: api.LKETaintEffectNoSchedule}},
			Tags:   &[]string{"x=y"},
		}, `{"labels":{"a":"b"},"tags":["x=y"],"taints":[{"effect":"NoSchedule","key":"k","value":""}]}`},
	}
	for _, row := range rows {
		s := &server{answer: always(200, poolBody)}
		if _, err := newClient(t, s).UpdatePool(t.Context(), 1, 7, row.update); err != nil {
			t.Fatal(err)
		}
		if s.requests[0].body != row.want {
			t.Errorf("%s: sent %s, want %s", row.name, s.requests[0].body, row.want)
		}
	}
}

// imports are all packages outside the standard library that this package may drag along.
var imports = []string{
	"github.com/hashicorp/go-cleanhttp",
	"github.com/hashicorp/go-retryablehttp",
	"github.com/karpenter-linode/karpenter-linode/modules/linode",
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api",
	"github.com/oapi-codegen/nullable",
}

// TestImportsDoNotGrow keeps this module light: no Kubernetes, no metrics library, nothing that is not in the list.
func TestImportsDoNotGrow(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	command.Env = append(command.Environ(), "GOWORK=off")
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(output))
	slices.Sort(got)
	if !slices.Equal(got, imports) {
		t.Errorf("the package's imports changed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(imports, "\n"))
	}
}

// modules are the modules that a program gets which imports this module, its api package included.
var modules = []string{
	"github.com/hashicorp/go-cleanhttp",
	"github.com/hashicorp/go-retryablehttp",
	"github.com/karpenter-linode/karpenter-linode/modules/claims",
	"github.com/karpenter-linode/karpenter-linode/modules/linode",
	"github.com/oapi-codegen/nullable",
}

// TestModulesDoNotGrow looks at modules: modules that are built are in the list, and in the whole graph, which go get
// resolves without building it, nothing is of Kubernetes.
func TestModulesDoNotGrow(t *testing.T) {
	list := func(args ...string) []string {
		command := exec.Command("go", append([]string{"list"}, args...)...)
		command.Env = append(command.Environ(), "GOWORK=off")
		output, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(output))
		slices.Sort(got)
		return slices.Compact(got)
	}
	if built := list("-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./..."); !slices.Equal(built, modules) {
		t.Errorf("the modules that are built changed:\n%s\nwant:\n%s", strings.Join(built, "\n"), strings.Join(modules, "\n"))
	}
	for _, module := range list("-m", "-f", "{{.Path}}", "all") {
		if strings.Contains(module, "k8s.io") || strings.Contains(module, "kubernetes") || strings.Contains(module, "prometheus") {
			t.Errorf("the module graph has %s", module)
		}
	}
}
