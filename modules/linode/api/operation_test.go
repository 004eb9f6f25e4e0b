package api_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

func TestTime(t *testing.T) {
	rows := []struct {
		text string
		want time.Time
		fine bool
	}{
		{`"2026-03-01T09:30:00"`, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), true},
		{`"2026-03-01T09:30:00Z"`, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), true},
		{`"2026-03-01T10:30:00+01:00"`, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), true},
		{`null`, time.Time{}, true},
		{`""`, time.Time{}, false},
		{`"yesterday"`, time.Time{}, false},
		{`17`, time.Time{}, false},
		{`{}`, time.Time{}, false},
	}
	for _, row := range rows {
		var got api.Time
		err := json.Unmarshal([]byte(row.text), &got)
		if (err == nil) != row.fine || !got.Equal(row.want) {
			t.Errorf("%s: %v, %v", row.text, got, err)
		}
	}
	local := api.Time{Time: time.Date(2026, 3, 1, 10, 30, 0, 999, time.FixedZone("", 3600))}
	if text, err := json.Marshal(local); err != nil || string(text) != `"2026-03-01T09:30:00"` || local.String() != "2026-03-01T09:30:00" {
		t.Errorf("%s, %v", text, err)
	}
}

// TestFilterableFields holds the description against the fields that are established to be filters.
func TestFilterableFields(t *testing.T) {
	rows := map[api.OperationID][]string{
		api.OpListInstances: {
			"group", "id", "image", "interface_generation", "ipv4", "label",
			"placement_group.label", "placement_group.placement_group_type", "region", "tags",
		},
		api.OpListLKEClusters:         {"k8s_version", "label", "region", "tags", "tier"},
		api.OpListLKENodePools:        {"id", "tags"},
		api.OpListTypes:               {"class", "disk", "gpus", "label", "memory", "network_out", "transfer", "vcpus"},
		api.OpListRegions:             {"country", "site_type"},
		api.OpListRegionsAvailability: {"available", "plan", "region"},
		api.OpListFirewalls:           {"created", "id", "label", "tags", "updated"},
		api.OpListImages:              {"deprecated", "is_public", "is_shared", "label", "size", "status", "tags", "type", "vendor"},
		api.OpListPlacementGroups:     {"id", "label", "placement_group_type", "region"},
		api.OpListVPCIPs:              {"linode_id", "subnet_id", "vpc_id"}, api.OpListVPCIPv6s: {"linode_id", "subnet_id", "vpc_id"},
		api.OpListInstanceInterfaceFirewalls: {"created", "id", "label", "tags", "updated"},
		api.OpListAllVPCIPs:                  {"linode_id", "subnet_id", "vpc_id"},
		api.OpListNodeBalancers:              {"hostname", "id", "ipv4", "label", "region", "tags"},
		api.OpListVolumes:                    {"id", "label", "region", "size", "tags"},
		api.OpListInstanceVolumes:            {"id", "label", "region", "size", "tags"},
		api.OpListInstanceFirewalls:          {"created", "id", "label", "tags", "updated"},
		api.OpListNodeBalancerFirewalls:      {"created", "id", "label", "tags", "updated"},
		api.OpListVPCs:                       {"created", "id", "label", "region", "vpc_type"},
		api.OpListVPCSubnets:                 {"created", "id", "label"},
		api.OpListInstanceConfigs:            {"interfaces"},
		api.OpListAccountEvents: {
			"action", "created", "entity.id", "entity.type", "entity.url", "id", "read", "seen", "status", "username",
		},
		api.OpListLKETypes:        {"label", "price.hourly", "price.monthly"},
		api.OpListHostMaintenance: {"status", "type", "when"},
	}
	for _, operation := range api.Operations() {
		if want := rows[operation.ID]; !slices.Equal(operation.Filterable, want) {
			t.Errorf("%s: %q, want %q", operation.ID, operation.Filterable, want)
		}
	}
}

// anyToken are operations that answered tokens whatever their scopes.
var anyToken = []api.OperationID{api.OpGetProfile, api.OpListVPCs, api.OpGetVPC, api.OpListVPCSubnets, api.OpGetVPCSubnet}

// TestRateClasses holds the description against the documented limits.
func TestRateClasses(t *testing.T) {
	limits := map[api.RateClass]api.RateLimit{
		api.RateClassCollections:    {Requests: 200, Per: time.Minute},
		api.RateClassGeneral:        {Requests: 1600, Per: time.Minute},
		api.RateClassCreateInstance: {Requests: 20, Per: 15 * time.Second},
		api.RateClassImages:         {Requests: 20, Per: time.Minute},
		api.RateClassCreateVolume:   {Requests: 100, Per: time.Minute},
		api.RateClassCreateVpc:      {Requests: 15, Per: time.Minute},
	}
	for class, want := range limits {
		if got, ok := api.DocumentedRateLimit(class); !ok || got != want {
			t.Errorf("%s: %+v", class, got)
		}
	}
	if _, ok := api.DocumentedRateLimit("none"); ok {
		t.Error("a limit out of nowhere")
	}
	for _, operation := range api.Operations() {
		want := api.RateClassGeneral
		switch {
		case operation.ID == api.OpListImages:
			want = api.RateClassImages
		case operation.ID == api.OpCreateInstance:
			want = api.RateClassCreateInstance
		case operation.ID == api.OpCreateVPC:
			want = api.RateClassCreateVpc
		case operation.ID == api.OpCreateVolume:
			want = api.RateClassCreateVolume
		case operation.Paginated:
			want = api.RateClassCollections
		}
		if operation.Class != want || (operation.Paginated && operation.Method != "GET") {
			t.Errorf("%s is of class %s, want %s", operation.ID, operation.Class, want)
		}
		if anyScope := slices.Contains(anyToken, operation.ID); (len(operation.Scopes) == 0 && !operation.Public) != anyScope {
			t.Errorf("%s has the scopes %q; takes any token: %v", operation.ID, operation.Scopes, anyScope)
		}
	}
}

func TestOperationByID(t *testing.T) {
	operation, ok := api.OperationByID(api.OpDeleteLKENode)
	if !ok || operation.Method != "DELETE" || operation.Route != "/lke/clusters/{clusterId}/nodes/{nodeId}" {
		t.Errorf("got %+v", operation)
	}
	if _, ok := api.OperationByID("none"); ok {
		t.Error("an operation out of nowhere")
	}
	api.Operations()[0].Route = "changed"
	if api.Operations()[0].Route == "changed" {
		t.Error("a caller can change the table")
	}
}
