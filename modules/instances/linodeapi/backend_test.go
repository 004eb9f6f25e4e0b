package linodeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func TestRequestsHaveTheFormOfTheirGeneration(t *testing.T) {
	swap := 0
	network := func(generation instances.Generation) instances.Network {
		return instances.Network{FirewallID: 9, Generation: generation, Interfaces: []instances.Interface{
			{VPC: &instances.VPCInterface{SubnetID: 5, Address: "10.0.0.7", NAT: true}, Primary: true},
			{Public: true},
			{VLAN: &instances.VLANInterface{Label: "lan", Address: "10.9.0.1/24"}},
		}}
	}
	spec := instances.Spec{
		InstanceType: "g6-standard-2", Region: "us-ord", Image: "linode/debian12", Kernel: "linode/direct-disk",
		Access:         instances.Access{Keys: []string{"ssh-ed25519 AAAA me"}},
		Storage:        instances.Storage{BootMB: 20000, SwapMB: &swap, Encryption: "disabled"},
		PlacementGroup: instances.PlacementGroup{ID: 3, CompliantOnly: true}, Backups: true, MaintenancePolicy: "linode/migrate",
	}
	for name, c := range map[string]struct {
		network instances.Network
		want    string
	}{
		"nothing": {instances.Network{}, `{}`},
		"legacy": {network(instances.GenerationLegacy), `{"firewall_id":9,"interface_generation":"legacy_config","interfaces":[` +
			`{"ipv4":{"nat_1_1":"any","vpc":"10.0.0.7"},"primary":true,"purpose":"vpc","subnet_id":5},` +
			`{"primary":false,"purpose":"public"},{"ipam_address":"10.9.0.1/24","label":"lan","purpose":"vlan"}]}`},
		"new": {network(instances.GenerationLinode), `{"interface_generation":"linode","interfaces":[` +
			`{"default_route":{"ipv4":true},"firewall_id":9,"vpc":{"ipv4":{"addresses":[{"address":"10.0.0.7","nat_1_1_address":"auto","primary":true}]},"subnet_id":5}},` +
			`{"firewall_id":9,"public":{}},{"vlan":{"ipam_address":"10.9.0.1/24","vlan_label":"lan"}}]}`},
		"new with a firewall alone": {instances.Network{FirewallID: 9, Generation: instances.GenerationLinode},
			`{"interface_generation":"linode","interfaces":[` +
				`{"default_route":{"ipv4":true},"firewall_id":9,"public":{}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Network = c.network
			got := requestOf(t, instances.Creation{Spec: spec, Label: "demo-a", Tags: []string{"tag"}, UserData: []byte("hello"), Off: true})
			rest := map[string]any{}
			for _, key := range []string{"firewall_id", "interface_generation", "interfaces"} {
				if value, ok := got[key]; ok {
					rest[key] = value
				}
				delete(got, key)
			}
			if text := encode(t, rest); text != c.want {
				t.Errorf("network\n%s, want\n%s", text, c.want)
			}
			const want = `{"authorized_keys":["ssh-ed25519 AAAA me"],"backups_enabled":true,"boot_size":20000,"booted":false,"disk_encryption":"disabled",` +
				`"image":"linode/debian12","kernel":"linode/direct-disk","label":"demo-a","maintenance_policy":"linode/migrate","metadata":{"user_data":"aGVsbG8="},` +
				`"placement_group":{"compliant_only":true,"id":3},"region":"us-ord","swap_size":0,"tags":["tag"],"type":"g6-standard-2"}`
			if text := encode(t, got); text != want {
				t.Errorf("request\n%s, want\n%s", text, want)
			}
		})
	}
}

func TestIPv6InAVPCHasOneFormInBothGenerations(t *testing.T) {
	public := false
	for name, c := range map[string]struct {
		ipv6 *instances.VPCIPv6
		want string
	}{
		"nothing asked for": {nil, `null`},
		"SLAAC":             {&instances.VPCIPv6{SLAAC: true}, `{"slaac":[{"range":"/64"}]}`},
		"all": {&instances.VPCIPv6{SLAAC: true, Ranges: []string{"/64", "/80"}, Public: &public},
			`{"is_public":false,"ranges":[{"range":"/64"},{"range":"/80"}],"slaac":[{"range":"/64"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, generation := range []instances.Generation{instances.GenerationLegacy, instances.GenerationLinode} {
				spec := instances.Spec{Network: instances.Network{Generation: generation,
					Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{SubnetID: 5, IPv6: c.ipv6}}}}}
				entry, _ := requestOf(t, instances.Creation{Spec: spec})["interfaces"].([]any)[0].(map[string]any)
				if vpc, ok := entry["vpc"].(map[string]any); ok {
					entry = vpc
				}
				if text := encode(t, entry["ipv6"]); text != c.want {
					t.Errorf("%s: %s, want %s", generation, text, c.want)
				}
			}
		})
	}
}

func TestAPublicInterfaceAsksForRangesWithItsAddress(t *testing.T) {
	for name, c := range map[string]struct {
		ranges []string
		want   string
	}{
		"none": {nil, `{}`},
		"two": {[]string{"/64", "/56"},
			`{"ipv4":{"addresses":[{"address":"auto","primary":true}]},"ipv6":{"ranges":[{"range":"/64"},{"range":"/56"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := instances.Spec{Network: instances.Network{Generation: instances.GenerationLinode,
				Interfaces: []instances.Interface{{Public: true, Ranges: c.ranges}}}}
			entry, _ := requestOf(t, instances.Creation{Spec: spec})["interfaces"].([]any)[0].(map[string]any)
			if text := encode(t, entry["public"]); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}

func requestOf(t *testing.T, c instances.Creation) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(encode(t, creation(c))), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPasswordsAreRandomAndOfAllClasses(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		p := password()
		if seen[p] || len(p) < 40 || len(p) > 128 || !strings.ContainsAny(p, "abc") || !strings.ContainsAny(p, "ABC") ||
			!strings.ContainsAny(p, "123") || !strings.ContainsAny(p, "-_") {
			t.Errorf("password %q", p)
		}
		seen[p] = true
	}
}

func TestErrorsKeepWhatIsKnownOfTheEffect(t *testing.T) {
	refusal := func(field, reason string) *linode.Error {
		return &linode.Error{Kind: linode.KindInvalid, Status: 400, Method: "POST", Reasons: []linode.Reason{{Field: field, Reason: reason}}}
	}
	for name, c := range map[string]struct {
		err    error
		kind   claims.Kind
		effect claims.Effect
		field  string
	}{
		"no answer": {&linode.Error{Kind: linode.KindAmbiguous, Method: "POST"}, claims.KindUnavailable,
			claims.EffectUnknown, ""},
		"the caller left": {&linode.Error{Kind: linode.KindCanceled, Method: "POST"}, claims.KindUnavailable,
			claims.EffectUnknown, ""},
		"no connection": {&linode.Error{Kind: linode.KindUnavailable, Method: "POST"}, claims.KindUnavailable,
			claims.EffectNone, ""},
		"unreadable": {&linode.Error{Kind: linode.KindMalformed, Method: "POST"}, claims.KindUnavailable,
			claims.EffectApplied, ""},
		"limited": {&linode.Error{Kind: linode.KindRateLimited, Method: "POST", Status: 429}, claims.KindRateLimited,
			claims.EffectNone, ""},
		"unknown error": {errors.New("boom"), claims.KindUnavailable, claims.EffectUnknown, ""},
		"not about an instance": {&linode.Error{Kind: linode.KindNotFound, Method: "POST", Status: 404}, claims.KindUnavailable,
			claims.EffectNone, ""},
		"503 with words": {&linode.Error{Kind: linode.KindAmbiguous, Status: 503, Method: "POST",
			Reasons: []linode.Reason{{Reason: "at capacity"}}}, claims.KindUnavailable, claims.EffectUnknown, ""},
		"403 with words": {&linode.Error{Kind: linode.KindForbidden, Status: 403, Method: "POST",
			Reasons: []linode.Reason{{Reason: "insufficient scope"}}}, claims.KindForbidden, claims.EffectNone, ""},
		"label taken": {refusal("label", "Label must be unique among your linodes"), claims.KindConflict, claims.EffectNone,
			"label"},
		"label bad": {refusal("label", "Label must begin with a letter"), claims.KindInvalid, claims.EffectNone, "label"},
		"account limit": {refusal("", "Account Limit reached. Please open a support ticket."), claims.KindQuotaExceeded,
			claims.EffectNone, ""},
		"user data": {refusal("metadata.user_data", "exceeds the limit"), claims.KindInvalid, claims.EffectNone,
			"Spec.UserData"},
		"interface": {refusal("interfaces[1].vpc.subnet_id", "subnet_id is not valid"), claims.KindInvalid,
			claims.EffectNone, "Spec.Network.Interfaces[1].vpc.subnet_id"},
		"no such field of ours": {refusal("stackscript_id", "is not valid"), claims.KindInvalid, claims.EffectNone, "stackscript_id"},
		"capacity among two reasons": {&linode.Error{Kind: linode.KindInvalid, Status: 400, Method: "POST",
			Reasons: []linode.Reason{{Field: "tags[0]", Reason: "x"}, {Field: "type", Reason: "sold out"}}}, claims.KindInsufficientCapacity,
			claims.EffectNone, claims.FieldInstanceType},
	} {
		t.Run(name, func(t *testing.T) {
			e := refused(c.err)
			if e.Kind != c.kind || e.Effect != c.effect || e.Field != c.field {
				t.Errorf("%s %q %s, want %s %q %s", e.Kind, e.Effect, e.Field, c.kind, c.effect, c.field)
			}
			if errors.Is(e, instances.ErrLabelTaken) != (name == "label taken") {
				t.Errorf("label taken: %t", errors.Is(e, instances.ErrLabelTaken))
			}
			detail := c.err.Error()
			if cause, ok := errors.AsType[*linode.Error](c.err); ok {
				detail = cause.Detail() // without its kind: e has one
			}
			if !strings.Contains(e.Error(), detail) || !errors.Is(e, c.err) {
				t.Errorf("%v hides %v", e, c.err)
			}
		})
	}
}

// Only the API's own 404 is one.
func TestNotFoundIsA404AndNothingElse(t *testing.T) {
	for _, kind := range []linode.Kind{
		linode.KindInvalid, linode.KindUnauthorized, linode.KindForbidden, linode.KindNotFound, linode.KindRateLimited, linode.KindBusy,
		linode.KindUnavailable, linode.KindAmbiguous, linode.KindMalformed, linode.KindCanceled, linode.KindUnknown,
	} {
		got := failed("read instance", 7, fmt.Errorf("wrapped: %w", &linode.Error{Kind: kind}))
		if (got.Kind == claims.KindNotFound) != (kind == linode.KindNotFound) || got.Object != "instance 7" {
			t.Errorf("%s became %v", kind, got)
		}
	}
	if got := failed("read instance", 7, errors.New("boom")); got.Kind != claims.KindUnavailable || got.Effect != claims.EffectUnknown {
		t.Errorf("an unknown error became %v", got)
	}
	if got := unlisted("list instances", 0, &linode.Error{Kind: linode.KindNotFound}); got.Kind != claims.KindUnavailable {
		t.Errorf("a list that was not found became %v", got)
	}
}
