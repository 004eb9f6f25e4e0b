package api_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

func typed[T any]() func() any { return func() any { return new(T) } }

// answers are the types of the answers, by operation.
var answers = map[api.OperationID]func() any{
	api.OpUpdateInstanceInterface:         typed[api.InstanceInterface](),
	api.OpListInstanceInterfaceFirewalls:  typed[api.FirewallPage](),
	api.OpGetFirewallDevice:               typed[api.FirewallDevice](),
	api.OpListNodeBalancerVPCs:            typed[api.NodeBalancerVPCConfigPage](),
	api.OpUpdateVPCSubnet:                 typed[api.VPCSubnet](),
	api.OpUpdateVPC:                       typed[api.VPC](),
	api.OpUpdateInstanceConfigInterface:   typed[api.InstanceConfigInterface](),
	api.OpUpdateAccountSettings:           typed[api.AccountSettings](),
	api.OpReorderInstanceConfigInterfaces: typed[api.Empty](),
	api.OpRebootInstance:                  typed[api.Empty](),
	api.OpListVPCIPv6s:                    typed[api.VPCAddressPage](),
	api.OpListVPCIPs:                      typed[api.VPCAddressPage](),
	api.OpListInstanceConfigInterfaces:    typed[api.InstanceConfigInterfaceList](),
	api.OpGetInstanceConfigInterface:      typed[api.InstanceConfigInterface](),
	api.OpDeleteVPCSubnet:                 typed[api.Empty](),
	api.OpDeleteInstanceConfigInterface:   typed[api.Empty](),
	api.OpCreateVPCSubnet:                 typed[api.VPCSubnet](),
	api.OpAppendInstanceConfigInterface:   typed[api.InstanceConfigInterface](),
	api.OpUpdateVolume:                    typed[api.Volume](),
	api.OpAddInstanceIP:                   typed[api.IPAddress](),
	api.OpDeleteInstanceIP:                typed[api.Empty](),
	api.OpShareIPs:                        typed[api.Empty](),
	api.OpUpdateNodeBalancerNode:          typed[api.NodeBalancerNode](),
	api.OpUpdateNodeBalancerConfig:        typed[api.NodeBalancerConfig](),
	api.OpUpdateNodeBalancer:              typed[api.NodeBalancer](),
	api.OpUpdateFirewallRules:             typed[api.FirewallRules](),
	api.OpUpdateFirewall:                  typed[api.Firewall](),
	api.OpSetInstanceFirewalls:            typed[api.FirewallPage](),
	api.OpResizeVolume:                    typed[api.Volume](),
	api.OpRebuildNodeBalancerConfig:       typed[api.NodeBalancerConfig](),
	api.OpListVolumes:                     typed[api.VolumePage](),
	api.OpListNodeBalancers:               typed[api.NodeBalancerPage](),
	api.OpListNodeBalancerNodes:           typed[api.NodeBalancerNodePage](),
	api.OpListNodeBalancerFirewalls:       typed[api.FirewallPage](),
	api.OpListNodeBalancerConfigs:         typed[api.NodeBalancerConfigPage](),
	api.OpListInstanceVolumes:             typed[api.VolumePage](),
	api.OpListInstanceFirewalls:           typed[api.FirewallPage](),
	api.OpGetVolume:                       typed[api.Volume](),
	api.OpGetNodeBalancerNode:             typed[api.NodeBalancerNode](),
	api.OpGetNodeBalancerConfig:           typed[api.NodeBalancerConfig](),
	api.OpGetNodeBalancer:                 typed[api.NodeBalancer](),
	api.OpGetFirewallRules:                typed[api.FirewallRules](),
	api.OpDetachVolume:                    typed[api.Empty](),
	api.OpDeleteVolume:                    typed[api.Empty](),
	api.OpDeleteNodeBalancerNode:          typed[api.Empty](),
	api.OpDeleteNodeBalancerConfig:        typed[api.Empty](),
	api.OpDeleteNodeBalancer:              typed[api.Empty](),
	api.OpCreateVolume:                    typed[api.Volume](),
	api.OpCreateNodeBalancerNode:          typed[api.NodeBalancerNode](),
	api.OpCreateNodeBalancerConfig:        typed[api.NodeBalancerConfig](),
	api.OpCreateNodeBalancer:              typed[api.NodeBalancer](),
	api.OpCloneVolume:                     typed[api.Volume](),
	api.OpAttachVolume:                    typed[api.Volume](),
	api.OpAssignPlacementGroup:            typed[api.PlacementGroup](),
	api.OpBootInstance:                    typed[api.Empty](),
	api.OpCreateFirewall:                  typed[api.Firewall](),
	api.OpCreateFirewallDevice:            typed[api.FirewallDevice](),
	api.OpCreateImage:                     typed[api.Image](),
	api.OpCreatePlacementGroup:            typed[api.PlacementGroup](),
	api.OpCreateVPC:                       typed[api.VPC](),
	api.OpDeleteFirewall:                  typed[api.Empty](),
	api.OpDeleteFirewallDevice:            typed[api.Empty](),
	api.OpDeleteImage:                     typed[api.Empty](),
	api.OpDeletePlacementGroup:            typed[api.Empty](),
	api.OpDeleteVPC:                       typed[api.Empty](),
	api.OpUnassignPlacementGroup:          typed[api.PlacementGroup](),
	api.OpGetFirewallTemplate:             typed[api.FirewallTemplate](),
	api.OpListFirewallTemplates:           typed[api.FirewallTemplatePage](),
	api.OpListAllVPCIPs:                   typed[api.VPCAddressPage](),
	api.OpListVPCDefaultRanges:            typed[api.VPCDefaultRanges](),
	api.OpUpdateFirewallSettings:          typed[api.FirewallSettings](),
	api.OpUpdatePlacementGroup:            typed[api.PlacementGroup](),
	api.OpCreateInstance:                  typed[api.Instance](),
	api.OpCreateInstanceConfig:            typed[api.InstanceConfig](),
	api.OpCreateInstanceDisk:              typed[api.InstanceDisk](),
	api.OpCreateLKECluster:                typed[api.LKECluster](),
	api.OpCreateLKENodePool:               typed[api.LKENodePool](),
	api.OpCreateTag:                       typed[api.TagObject](),
	api.OpDeleteInstance:                  typed[api.Empty](),
	api.OpDeleteInstanceConfig:            typed[api.Empty](),
	api.OpDeleteInstanceDisk:              typed[api.Empty](),
	api.OpDeleteLKECluster:                typed[api.Empty](),
	api.OpDeleteLKENode:                   typed[api.Empty](),
	api.OpDeleteLKENodePool:               typed[api.Empty](),
	api.OpDeleteTag:                       typed[api.Empty](),
	api.OpGetAccountAvailability:          typed[api.AccountAvailability](),
	api.OpGetAccountSettings:              typed[api.AccountSettings](),
	api.OpGetFirewall:                     typed[api.Firewall](),
	api.OpGetFirewallSettings:             typed[api.FirewallSettings](),
	api.OpGetImage:                        typed[api.Image](),
	api.OpGetInstance:                     typed[api.Instance](),
	api.OpGetInstanceConfig:               typed[api.InstanceConfig](),
	api.OpGetInstanceDisk:                 typed[api.InstanceDisk](),
	api.OpGetInstanceIPs:                  typed[api.InstanceIPs](),
	api.OpGetInstanceInterface:            typed[api.InstanceInterface](),
	api.OpGetLKECluster:                   typed[api.LKECluster](),
	api.OpGetLKEClusterKubeconfig:         typed[api.LKEKubeconfig](),
	api.OpGetLKENode:                      typed[api.LKENode](),
	api.OpGetLKENodePool:                  typed[api.LKENodePool](),
	api.OpGetLKETierVersion:               typed[api.LKETierVersion](),
	api.OpGetLKEVersion:                   typed[api.LKEVersion](),
	api.OpGetPlacementGroup:               typed[api.PlacementGroup](),
	api.OpGetProfile:                      typed[api.Profile](),
	api.OpGetRegion:                       typed[api.Region](),
	api.OpGetRegionAvailability:           typed[api.RegionAvailabilityList](),
	api.OpGetType:                         typed[api.LinodeType](),
	api.OpGetVPC:                          typed[api.VPC](),
	api.OpGetVPCSubnet:                    typed[api.VPCSubnet](),
	api.OpListAccountAvailability:         typed[api.AccountAvailabilityPage](),
	api.OpListHostMaintenance:             typed[api.HostMaintenancePage](),
	api.OpListFirewallDevices:             typed[api.FirewallDevicePage](),
	api.OpListFirewalls:                   typed[api.FirewallPage](),
	api.OpListImages:                      typed[api.ImagePage](),
	api.OpListInstanceConfigs:             typed[api.InstanceConfigPage](),
	api.OpListInstanceDisks:               typed[api.InstanceDiskPage](),
	api.OpListInstanceInterfaces:          typed[api.InstanceInterfaceList](),
	api.OpListInstances:                   typed[api.InstancePage](),
	api.OpListLKEClusterAPIEndpoints:      typed[api.LKEClusterAPIEndpointPage](),
	api.OpListLKEClusters:                 typed[api.LKEClusterPage](),
	api.OpListLKENodePools:                typed[api.LKENodePoolPage](),
	api.OpListLKETierVersions:             typed[api.LKETierVersionPage](),
	api.OpListLKETypes:                    typed[api.LKETypePage](),
	api.OpListLKEVersions:                 typed[api.LKEVersionPage](),
	api.OpListPlacementGroups:             typed[api.PlacementGroupPage](),
	api.OpListRegions:                     typed[api.RegionPage](),
	api.OpListRegionsAvailability:         typed[api.RegionAvailabilityPage](),
	api.OpListTags:                        typed[api.TagObjectPage](),
	api.OpListTypes:                       typed[api.LinodeTypePage](),
	api.OpListVPCSubnets:                  typed[api.VPCSubnetPage](),
	api.OpListVPCs:                        typed[api.VPCPage](),
	api.OpRecycleLKENode:                  typed[api.Empty](),
	api.OpRecycleLKENodePool:              typed[api.Empty](),
	api.OpShutdownInstance:                typed[api.Empty](),
	api.OpUpdateInstance:                  typed[api.Instance](),
	api.OpUpdateInstanceConfig:            typed[api.InstanceConfig](),
	api.OpUpdateLKENodePool:               typed[api.LKENodePool](),
	api.OpUpdateLKECluster:                typed[api.LKECluster](),
	api.OpRecycleLKECluster:               typed[api.Empty](),
	api.OpRegenerateLKECluster:            typed[api.Empty](),
	api.OpDeleteLKEClusterKubeconfig:      typed[api.Empty](),

	api.OpDeleteLKEClusterServiceToken: typed[api.Empty](),
	api.OpGetLKEControlPlaneACL:        typed[api.LKEControlPlaneACLEnvelope](),
	api.OpUpdateLKEControlPlaneACL:     typed[api.LKEControlPlaneACLEnvelope](),
	api.OpDeleteLKEControlPlaneACL:     typed[api.Empty](),
	api.OpListAccountEvents:            typed[api.AccountEventPage](),
}

// requests are the types of the requests' bodies.
var requests = map[api.OperationID]func() any{
	api.OpUpdateInstanceInterface:         typed[api.InstanceInterfaceUpdate](),
	api.OpUpdateVPCSubnet:                 typed[api.VPCSubnetUpdate](),
	api.OpUpdateVPC:                       typed[api.VPCUpdate](),
	api.OpUpdateInstanceConfigInterface:   typed[api.InstanceConfigInterfaceUpdate](),
	api.OpUpdateAccountSettings:           typed[api.AccountSettingsUpdate](),
	api.OpReorderInstanceConfigInterfaces: typed[api.InstanceConfigInterfaceOrder](),
	api.OpRebootInstance:                  typed[api.InstanceBoot](),
	api.OpCreateVPCSubnet:                 typed[api.VPCSubnetCreate](),
	api.OpAppendInstanceConfigInterface:   typed[api.InstanceConfigInterfaceCreate](),
	api.OpUpdateVolume:                    typed[api.VolumeUpdate](),
	api.OpAddInstanceIP:                   typed[api.InstanceIPCreate](),
	api.OpShareIPs:                        typed[api.IPShare](),
	api.OpUpdateNodeBalancerNode:          typed[api.NodeBalancerNodeUpdate](),
	api.OpUpdateNodeBalancerConfig:        typed[api.NodeBalancerConfigCreate](),
	api.OpUpdateNodeBalancer:              typed[api.NodeBalancerUpdate](),
	api.OpUpdateFirewallRules:             typed[api.FirewallRulesCreate](),
	api.OpUpdateFirewall:                  typed[api.FirewallUpdate](),
	api.OpSetInstanceFirewalls:            typed[api.InstanceFirewallsUpdate](),
	api.OpResizeVolume:                    typed[api.VolumeResize](),
	api.OpRebuildNodeBalancerConfig:       typed[api.NodeBalancerConfigRebuild](),
	api.OpCreateVolume:                    typed[api.VolumeCreate](),
	api.OpCreateNodeBalancerNode:          typed[api.NodeBalancerNodeCreate](),
	api.OpCreateNodeBalancerConfig:        typed[api.NodeBalancerConfigCreate](),
	api.OpCreateNodeBalancer:              typed[api.NodeBalancerCreate](),
	api.OpCloneVolume:                     typed[api.VolumeClone](),
	api.OpAttachVolume:                    typed[api.VolumeAttach](),
	api.OpUpdateFirewallSettings:          typed[api.FirewallSettingsUpdate](),
	api.OpAssignPlacementGroup:            typed[api.PlacementGroupAssign](),
	api.OpBootInstance:                    typed[api.InstanceBoot](),
	api.OpCreateFirewall:                  typed[api.FirewallCreate](),
	api.OpCreateFirewallDevice:            typed[api.FirewallDeviceCreate](),
	api.OpCreateImage:                     typed[api.ImageCreate](),
	api.OpCreatePlacementGroup:            typed[api.PlacementGroupCreate](),
	api.OpCreateVPC:                       typed[api.VPCCreate](),
	api.OpUnassignPlacementGroup:          typed[api.PlacementGroupUnassign](),
	api.OpUpdatePlacementGroup:            typed[api.PlacementGroupUpdate](),
	api.OpCreateInstance:                  typed[api.InstanceCreate](),
	api.OpCreateInstanceConfig:            typed[api.InstanceConfigCreate](),
	api.OpCreateInstanceDisk:              typed[api.InstanceDiskCreate](),
	api.OpCreateLKECluster:                typed[api.LKEClusterCreate](),
	api.OpCreateLKENodePool:               typed[api.LKENodePoolCreate](),
	api.OpCreateTag:                       typed[api.TagCreate](),
	api.OpUpdateInstance:                  typed[api.InstanceUpdate](),
	api.OpUpdateInstanceConfig:            typed[api.InstanceConfigUpdate](),
	api.OpUpdateLKENodePool:               typed[api.LKENodePoolUpdate](),
	api.OpUpdateLKECluster:                typed[api.LKEClusterUpdate](),
	api.OpRegenerateLKECluster:            typed[api.LKEClusterRegenerate](),

	api.OpUpdateLKEControlPlaneACL: typed[api.LKEControlPlaneACLEnvelope](),
}

// TestDescribedExamples decodes and encodes the examples of every operation.
func TestDescribedExamples(t *testing.T) {
	for _, operation := range api.Operations() {
		t.Run(string(operation.ID), func(t *testing.T) {
			example, ok := describedExamples[operation.ID]
			if !ok || answers[operation.ID] == nil || (example.request != "") != (requests[operation.ID] != nil) {
				t.Fatal("the operation lacks an example or an entry in the tables of this test")
			}
			roundTrip(t, []byte(example.answer), answers[operation.ID]())
			if example.request != "" {
				roundTrip(t, []byte(example.request), requests[operation.ID]())
			}
		})
	}
}

// exchange is one recorded request and its answer.
type exchange struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Request  json.RawMessage `json:"request"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response"`
}

// TestRecordedExchanges decodes and encodes recorded answers and requests of the real API. The recordings are not part of the repository:
// they are in a folder beside it, or in the folder that LINODE_EXCHANGES names.
func TestRecordedExchanges(t *testing.T) {
	folder := os.Getenv("LINODE_EXCHANGES")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "..", "shared", "linode-api", "exchanges")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("no recordings in %s: set LINODE_EXCHANGES to their folder to check the types against real answers", folder)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var exchanges []exchange
			if err := json.Unmarshal(text, &exchanges); err != nil {
				t.Fatal(err)
			}
			for _, e := range exchanges {
				checkExchange(t, e)
			}
		})
	}
}

func checkExchange(t *testing.T, e exchange) {
	t.Helper()
	request, answer, ok := typesOf(e)
	if !ok {
		t.Errorf("%s %s is not described", e.Method, e.Path)
		return
	}
	if e.Status != 200 {
		answer = typed[api.ErrorList]()
	}
	t.Logf("%s %s %d", e.Method, e.Path, e.Status)
	roundTrip(t, e.Response, answer())
	if len(e.Request) > 0 && request != nil {
		roundTrip(t, e.Request, request())
	}
}

var parameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

// typesOf finds the types of a recorded call by its path.
func typesOf(e exchange) (request, answer func() any, ok bool) {
	address, err := url.Parse(e.Path)
	if err != nil {
		return nil, nil, false
	}
	path := strings.TrimPrefix(strings.TrimPrefix(address.EscapedPath(), "/v4beta"), "/v4")
	best := ""
	for _, operation := range api.Operations() {
		pattern := "^" + parameter.ReplaceAllString(regexp.QuoteMeta(operation.Route), "[^/]+") + "$"
		matches := operation.Method == e.Method && regexp.MustCompile(pattern).MatchString(path)
		// /regions/availability fits /regions/{regionId} as well: the route with fewer parameters wins.
		if matches && (best == "" || strings.Count(operation.Route, "{") < strings.Count(best, "{")) {
			best, request, answer = operation.Route, requests[operation.ID], answers[operation.ID]
		}
	}
	return request, answer, answer != nil
}

// roundTrip decodes text into the type, encodes it again and compares: nothing may be lost, nothing invented.
func roundTrip(t *testing.T, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%T: %v in %.300s", into, err, text)
		return
	}
	encoded, err := json.Marshal(into)
	if err != nil {
		t.Errorf("%T: %v", into, err)
		return
	}
	want, got := decode(t, text), decode(t, encoded)
	if isRequest(into) {
		want = withoutNulls(want)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%T:\nread    %.2000s\nwritten %.2000s", into, text, encoded)
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// isRequest returns whether null means the same as a missing field, as in the recorded requests
// ("labels": null); the types cannot write it.
func isRequest(value any) bool {
	name := reflect.TypeOf(value).Elem().Name()
	return strings.HasSuffix(name, "Create") || strings.HasSuffix(name, "Update") || strings.HasSuffix(name, "Boot")
}

func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(inner)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}
