package linodesim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// TestDescribedExamples sends the example request of every operation of the
// API's description to a simulator in which there is one of everything, and
// wants an answer of the shape of the example: the same as with recorded
// exchanges, which not every clone has.
func TestDescribedExamples(t *testing.T) {
	eachOperation(t, replayExample)
}

func replayExample(t *testing.T, method, route string, op *openapi3.Operation) {
	t.Helper()
	_, got := sendExample(t, method, route, op)
	described := op.Responses.Value("200").Value.Content.Get("application/json")
	for _, d := range differences("", described.Schema, plain(t, described.Example), decoded(got)) {
		if !slices.ContainsFunc(byState, func(known string) bool { return strings.Contains(d, known) }) {
			t.Errorf("%s", d)
		}
	}
}

// sendExample sends an operation's example request to a simulator of its own.
func sendExample(t *testing.T, method, route string, op *openapi3.Operation) (client, reply) {
	t.Helper()
	p := oneOfEverything(t, op.OperationID)
	body := ""
	if op.RequestBody != nil {
		request, ok := plain(t, op.RequestBody.Value.Content.Get("application/json").Example).(map[string]any)
		if !ok {
			t.Fatal("the request's example is no object")
		}
		body = strings.NewReplacer("192.168.128.1:", p.ids["private"]+":", "203.0.113.21", p.ids["public"]).Replace(p.ours(request))
	}
	for _, parameter := range op.Parameters {
		name := "{" + parameter.Value.Name + "}"
		if strings.Contains(route, name) {
			route = strings.ReplaceAll(route, name, url.PathEscape(p.ids[name]))
		}
	}
	var headers []string
	if op.OperationID == "listInstances" { // the example is of a worker
		headers = []string{"X-Filter", `{"label":{"+contains":"lke"}}`}
	}
	got := p.do(method, "/v4beta"+route, body, headers...)
	if got.status != http.StatusOK {
		t.Fatalf("%s %s %s: %d %s", method, route, body, got.status, got.raw)
	}
	return p.client, got
}

// byState are differences between an example and an answer that come from the
// state of the objects, as the example's text shows another tier or moment.
var byState = []string{
	".data[1].vpc_id is missing", // an Enterprise cluster that names no VPC
	".data[1].subnet_id is", ".subnets[0].ipv6 is", ".data[1].stack_type is missing", ".control_plane.audit_logs_enabled",
	".default_route.ipv6", ".public is an object", ".vpc is null", // of another kind of interface
	".outbound is null", ".ports is missing", // of a rule for ICMP
	".regions is null, recorded a list",                                              // public images have none
	".eol is null",                                                                   // a rolling distribution's
	".default_firewall_ids.",                                                         // the account has no defaults
	".image is a string", ".lke_cluster_id is null", ".placement_group is an object", // of a Linode that is no worker
	".ipv6 is a list",                                 // of a VPC
	".linode_id is", ".linode_label is", ".status is", // of a volume
	".time_remaining is", ".duration is", // of an event that is not over
	".secondary_entity is", ".secondary_entity.id is", // of an event without one, or with another kind
	".rdns is", ".vpc_nat_1_1 is", ".assigned_entity is", ".interface_id is", // of another kind of address
	"].data.", // of a tagged object the example shows two fields
}

// plain is a value as JSON has it.
func plain(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// oneOfEverything prepares the state that the examples speak of, and maps
// their IDs, and the names of path parameters, to the IDs that it has instead.
func oneOfEverything(t *testing.T, operation string) replay {
	t.Helper()
	profile := even()
	_, api := newSim(t, linodesim.Config{Profile: profile})
	p := replay{client: api, ids: map[string]string{"{tier}": "standard", "{version}": "1.35", "{regionId}": "au-mel",
		"{typeId}": "g6-standard-2", "{tagLabel}": "tagged", "{slug}": "public"}}
	made := func(path, body string) reply { return mustDo(t, api, "POST", "/v4beta"+path, body) }
	get := func(path string) map[string]any { return mustDo(t, api, "GET", "/v4beta"+path, "").body }
	first := func(path, list string) map[string]any { return get(path)[list].([]any)[0].(map[string]any) }
	id := func(r reply) string { return fmt.Sprint(number(r.body["id"])) }

	cluster := made("/lke/clusters",
		`{"label":"one","region":"au-mel","k8s_version":"1.35","tags":["tagged"],"node_pools":[{"type":"g6-standard-2","count":2,"tags":["tagged"]}]}`)
	enterprise := made("/lke/clusters", `{"label":"two","region":"us-lax","k8s_version":"v1.33.6+lke7","tier":"enterprise","node_pools":[]}`)
	firewall := made("/networking/firewalls",
		`{"label":"one","tags":["tagged"],"rules":{"inbound":[{"action":"ACCEPT","protocol":"TCP","ports":"22","label":"ssh","addresses":{"ipv4":["192.0.2.0/24"],"ipv6":["2001:db8::/32"]}}],"inbound_policy":"DROP","outbound_policy":"ACCEPT"}}`)
	group := made("/placement/groups",
		`{"label":"one","region":"au-mel","placement_group_type":"anti_affinity:local","placement_group_policy":"flexible"}`)
	vpc := made("/vpcs", `{"label":"one","region":"au-mel","ipv6":[{"range":"/52"}],"subnets":[{"label":"one","ipv4":"10.0.0.0/24"}]}`)
	subnet := fmt.Sprint(number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"]))
	linode := made("/linode/instances",
		`{"type":"g6-standard-2","region":"au-mel","image":"linode/debian12","root_pass":"not-a-secret","swap_size":0,"private_ip":true,"tags":["tagged"],"booted":`+fmt.Sprint(operation == "shutdownInstance")+`}`)
	where := "/linode/instances/" + id(linode)
	disk := fmt.Sprint(number(first(where+"/disks", "data")["id"]))
	made(where+"/configs", `{"label":"vpc","devices":{"sda":{"disk_id":`+disk+`}},"interfaces":[{"purpose":"vpc","subnet_id":`+subnet+`}]}`)
	p.ids["private"] = linode.body["ipv4"].([]any)[1].(string)
	balancer := made("/nodebalancers",
		`{"region":"au-mel","label":"one","tags":["tagged"],"backend_vpcs":[{"subnet_id":`+subnet+`}],"configs":[{"port":8080,"nodes":[{"label":"one","address":"`+p.ids["private"]+`:80"}]}]}`)
	volume := made("/volumes", `{"region":"au-mel","label":"one","tags":["tagged"]}`)
	newer := made("/linode/instances", `{"type":"g6-standard-2","region":"au-mel","interface_generation":"linode","firewall_id":-1}`)
	time.Sleep(time.Hour)
	pool := first("/lke/clusters/"+id(cluster)+"/pools", "data")
	image := made("/images", `{"disk_id":`+disk+`,"tags":["tagged"]}`)
	if operation == "createInstanceDisk" { // room for it
		for _, d := range get(where + "/disks")["data"].([]any) {
			mustDo(t, api, "DELETE", fmt.Sprintf("/v4beta%s/disks/%v", where, number(d.(map[string]any)["id"])), "")
		}
	}
	inGroup := fmt.Sprintf(`{"linodes":[%s]}`, id(linode))
	if !slices.Contains([]string{"assignPlacementGroup", "deletePlacementGroup", "updatePlacementGroup"}, operation) {
		made("/placement/groups/"+id(group)+"/assign", inGroup)
	}
	if operation == "deleteLKENodePool" { // a cluster keeps one
		made("/lke/clusters/"+id(cluster)+"/pools", `{"type":"g6-standard-2","count":1}`)
	}
	ports := "/nodebalancers/" + id(balancer) + "/configs"
	p.ids["{nodebalancerId}"], p.ids["{volumeId}"] = id(balancer), id(volume)
	p.ids["{nodebalancerConfigId}"] = fmt.Sprint(number(first(ports, "data")["id"]))
	p.ids["{nodebalancerNodeId}"] = fmt.Sprint(number(first(ports+"/"+p.ids["{nodebalancerConfigId}"]+"/nodes", "data")["id"]))
	if operation == "detachVolume" {
		made("/volumes/"+id(volume)+"/attach", `{"linode_id":`+id(linode)+`}`)
		time.Sleep(time.Hour)
	}
	p.ids["{clusterId}"], p.ids["{poolId}"] = id(cluster), fmt.Sprint(number(pool["id"]))
	p.ids["{eventId}"] = fmt.Sprint(number(first("/account/events", "data")["id"]))
	p.ids["{nodeId}"] = pool["nodes"].([]any)[0].(map[string]any)["id"].(string)
	p.ids["{linodeId}"], p.ids["{diskId}"], p.ids["{imageId}"] = id(linode), disk, image.body["id"].(string)
	p.ids["{configId}"] = fmt.Sprint(number(first(where+"/configs", "data")["id"]))
	p.ids["{firewallId}"], p.ids["{groupId}"], p.ids["{vpcId}"], p.ids["{subnetId}"] = id(firewall), id(group), id(vpc), subnet
	p.prepareWrites(operation, where, id(vpc), subnet, disk)
	if operation == "deleteInstanceIP" {
		p.ids["{address}"] = made(where+"/ips", `{"type":"ipv4","public":true}`).body["address"].(string)
	}
	p.ids["public"] = newer.body["ipv4"].([]any)[0].(string)
	switch operation {
	case "updateLKENodePool": // the example is of Enterprise
		p.ids["{clusterId}"] = id(enterprise)
		p.ids["{poolId}"] = id(made("/lke/clusters/"+id(enterprise)+"/pools", `{"type":"g6-standard-2","count":1}`))
		time.Sleep(time.Hour)
	case "getLKEControlPlaneACL": // the example is of a list in force
		mustDo(t, api, "PUT", "/v4beta/lke/clusters/"+id(cluster)+"/control_plane_acl",
			`{"acl":{"enabled":true,"addresses":{"ipv4":["192.0.2.1"]}}}`)
	case "listFirewallDevices", "deleteFirewallDevice", "getFirewallDevice":
		p.ids["{deviceId}"] = id(made("/networking/firewalls/"+id(firewall)+"/devices", `{"type":"linode","id":`+id(linode)+`}`))
	case "deleteVPC":
		mustDo(t, api, "DELETE", "/v4beta"+where, "")
		mustDo(t, api, "DELETE", "/v4beta/nodebalancers/"+id(balancer), "")
	case "getInstanceInterface", "listInstanceInterfaces", "updateInstanceInterface", "listInstanceInterfaceFirewalls":
		p.ids["{linodeId}"] = id(newer)
		p.ids["{interfaceId}"] = fmt.Sprint(number(first("/linode/instances/"+id(newer)+"/interfaces", "interfaces")["id"]))
	case "getInstance", "updateInstance": // the examples are of a worker
		p.ids["{linodeId}"] = fmt.Sprint(number(pool["nodes"].([]any)[0].(map[string]any)["instance_id"]))
	case "getImage":
		p.ids["{imageId}"] = "linode/ubuntu22.04"
	}
	for recorded, own := range map[string]string{
		"97189517": id(linode), "183299550": disk, "85836862": p.ids["{configId}"], "9618661": id(firewall), "448276": id(group),
	} {
		p.ids[recorded] = own
	}
	return p
}

// prepareWrites brings the Linode and the VPC into the state that an operation needs.
func (p replay) prepareWrites(operation, linode, vpc, subnet, disk string) {
	p.t.Helper()
	post := func(path, body string) map[string]any {
		return mustDo(p.t, p.client, "POST", "/v4beta"+path, body).body
	}
	if operation == "createInstanceDisk" {
		return // its disks are gone
	}
	config := post(linode+"/configs", `{"label":"more","devices":{"sda":{"disk_id":`+disk+`}},"interfaces":[{"purpose":"vpc","subnet_id":`+subnet+`}]}`)
	iface := config["interfaces"].([]any)[0].(map[string]any)["id"]
	p.ids["4511"], p.ids["5123"] = fmt.Sprint(number(iface)), subnet
	if strings.Contains(operation, "ConfigInterface") {
		p.ids["{configId}"], p.ids["{configInterfaceId}"] = fmt.Sprint(number(config["id"])), fmt.Sprint(number(iface))
	}
	switch operation {
	case "rebootInstance":
		mustDo(p.t, p.client, "POST", "/v4beta"+linode+"/boot", "{}")
		time.Sleep(time.Hour)
	case "deleteVPCSubnet":
		free := post("/vpcs/"+vpc+"/subnets", `{"label":"free","ipv4":"10.0.9.0/24"}`)
		p.ids["{subnetId}"] = fmt.Sprint(number(free["id"]))
	}
}
