package instances_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestRefusalsNameTheFieldAndWhatToDo(t *testing.T) {
	type scene struct {
		name, field string
		kind        claims.Kind
		change      func(*instances.Spec)
		prepare     func(*lab)
	}
	for _, c := range []scene{
		{name: "bad image", field: "Spec.Image", kind: claims.KindInvalid, change: func(s *instances.Spec) { s.Image = "linode/none" }},
		{name: "bad region", field: "Spec.Region", kind: claims.KindInvalid, change: func(s *instances.Spec) { s.Region = "us-none" }},
		{name: "bad instance type", field: claims.FieldInstanceType, kind: claims.KindInvalid,
			change: func(s *instances.Spec) { s.InstanceType = "g6-none" }},
		{name: "bad firewall", field: "Spec.Network.FirewallID", kind: claims.KindInvalid,
			change: func(s *instances.Spec) { s.Network.FirewallID = 77 }},
		{name: "bad subnet", field: "Spec.Network.Interfaces[0].subnet_id", kind: claims.KindInvalid, change: func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLinode,
				Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{SubnetID: 77}}}}
		}},
		{name: "no such placement group", field: "Spec.PlacementGroup", kind: claims.KindInvalid,
			change: func(s *instances.Spec) { s.PlacementGroup.ID = 77 }},
		{name: "disk larger than the plan", field: "Spec.Storage.SwapMB", kind: claims.KindInvalid,
			change: func(s *instances.Spec) { s.Storage.BootMB = 900_000 }},
		{name: "account limit", kind: claims.KindQuotaExceeded, prepare: func(l *lab) { l.sim.SetAccountLimit(1) }},
		{name: "no capacity", field: claims.FieldInstanceType, kind: claims.KindInsufficientCapacity,
			prepare: func(l *lab) { l.sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2"}) }},
		{name: "plan not in the region", kind: claims.KindInsufficientCapacity, prepare: func(l *lab) {
			l.sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2", Reason: "This plan is not available in the selected region"})
		}},
		{name: "placement group full", field: "Spec.PlacementGroup", kind: claims.KindQuotaExceeded, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute,
				Answer: linodesim.Answer{Status: 400, Field: "placement_group.id",
					Reason: "A placement group in region us-ord holds 5 Linodes; this one has 5"}})
		}},
		{name: "placement group not compliant", field: "Spec.PlacementGroup", kind: claims.KindInsufficientCapacity, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute,
				Answer: linodesim.Answer{Status: 400, Field: "placement_group", Reason: "Cannot place the Linode compliantly"}})
		}},
		{name: "words of capacity about another field", field: "Spec.Tags[0]", kind: claims.KindInvalid, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute,
				Answer: linodesim.Answer{Status: 400, Field: "tags[0]", Reason: "limited to 50 characters"}})
		}},
		{name: "scope", kind: claims.KindForbidden, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Answer: linodesim.Answer{Status: 403, Reason: "insufficient scope"}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				if c.prepare != nil {
					c.prepare(l)
				}
				s := spec("a", "1")
				if c.change != nil {
					c.change(&s)
				}
				_, err := l.start(instances.Config{}).Create(within(t, time.Minute), s)
				wantKind(t, err, c.kind)
				e, ok := errors.AsType[*claims.Error](err)
				if !ok || c.field != "" && !strings.HasPrefix(e.Field, c.field) || e.Effect != claims.EffectNone {
					t.Errorf("error %+v, want field %s and no effect", err, c.field)
				}
				if len(l.ours()) != 0 {
					t.Error("something was made")
				}
			})
		})
	}
}

func TestUserDataHasALimit(t *testing.T) {
	random := make([]byte, instances.MaxUserData+1)
	_, _ = rand.Read(random)
	for _, c := range []struct {
		name string
		data instances.UserData
		ok   bool
	}{
		{"at the limit", instances.UserData{Content: random[:instances.MaxUserData]}, true},
		{"too large and not compressible", instances.UserData{Content: random}, false},
		{"too large, gzip helps", instances.UserData{Content: bytes.Repeat([]byte("#cloud-config\n"), 5000)}, true},
		{"too large, gzip would help, and is not wanted",
			instances.UserData{Content: bytes.Repeat([]byte("machine: {}\n"), 5000), Verbatim: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				s := spec("a", "1")
				s.UserData = c.data
				_, err := l.start(instances.Config{}).Create(within(t, time.Minute), s)
				if c.ok {
					if err != nil {
						t.Fatal(err)
					}
					if text := l.userData(); len(text) > instances.MaxUserData || len(text) == 0 {
						t.Errorf("%d bytes were sent", len(text))
					}
					return
				}
				wantKind(t, err, claims.KindInvalid)
				text := fmt.Sprint(err)
				for _, part := range []string{"Spec.UserData", fmt.Sprint(len(c.data.Content)), "16384"} {
					if !strings.Contains(text, part) {
						t.Errorf("%q lacks %s", text, part)
					}
				}
				if l.sent("") != 0 {
					t.Errorf("requests %v", l.requests)
				}
			})
		})
	}
}

func (l *lab) posted() map[string]any {
	l.t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(l.bodies[0]), &body); err != nil {
		l.t.Fatal(err)
	}
	return body
}

func (l *lab) userData() []byte {
	metadata, _ := l.posted()["metadata"].(map[string]any)
	text, _ := metadata["user_data"].(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		l.t.Fatal(err)
	}
	return data
}

func TestAPasswordIsMadeOnlyWithoutKeysAndUsers(t *testing.T) {
	seen := map[string]bool{}
	for name, access := range map[string]instances.Access{
		"keys": spec("a", "1").Access, "users": {Users: []string{"me"}}, "neither": {}, "neither again": {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
				s := spec("a", "1")
				s.Access = access
				l.start(instances.Config{}).create(t, s)
				password, given := l.posted()["root_pass"].(string)
				if want := len(access.Keys)+len(access.Users) == 0; given != want {
					t.Fatalf("password given: %t", given)
				}
				if given && (len(password) < 40 || len(password) > 128 || seen[password]) {
					t.Errorf("password %q", password)
				}
				seen[password] = given
			})
		})
	}
}

func TestInvalidSpecsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	for field, change := range map[string]func(*instances.Spec){
		"Spec.InstanceType":       func(s *instances.Spec) { s.InstanceType = "" },
		"Spec.Image":              func(s *instances.Spec) { s.Image = "" },
		"Spec.Claimant.Name":      func(s *instances.Spec) { s.Claimant.Name = "a b" },
		"Spec.Tags[0]":            func(s *instances.Spec) { s.Tags = []string{"x"} },
		"Spec.Tags[1]":            func(s *instances.Spec) { s.Tags = []string{"fine", "karpenter.sh/nodeclaim=b"} },
		"Spec.Network.Generation": func(s *instances.Spec) { s.Network.Interfaces = []instances.Interface{{Public: true}} },
		"Spec.Storage.BootMB":     func(s *instances.Spec) { s.Storage.Data = []instances.Disk{{Label: "data", SizeMB: 1}} },
		"Spec.MaintenancePolicy":  func(s *instances.Spec) { s.MaintenancePolicy = "never" },
		"Spec.Network.Interfaces[0]": func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLinode, Interfaces: []instances.Interface{{}}}
		},
		"Spec.Network.Interfaces[0].VPC.IPv6": func(s *instances.Spec) {
			s.Network = vpcNetwork(instances.VPCIPv6{})
		},
		"Spec.Network.Interfaces[0].VPC.IPv6.Ranges[1]": func(s *instances.Spec) {
			s.Network = vpcNetwork(instances.VPCIPv6{Ranges: []string{"/64", "/129"}})
		},
		"Spec.Network.Interfaces[1].Ranges": func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLinode, Interfaces: []instances.Interface{
				{VPC: &instances.VPCInterface{SubnetID: 1}}, {Public: true, Ranges: []string{"/64", "/80"}},
			}}
		},
		"Spec.Network.Interfaces[0].Ranges": func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLegacy,
				Interfaces: []instances.Interface{{Public: true, Ranges: []string{"/64"}}}}
		},
		"Spec.Network.Interfaces[0].VPC.SubnetID": func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLegacy,
				Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{}}}}
		},
	} {
		t.Run(field, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{})
				s := spec("a", "1")
				change(&s)
				_, err := l.start(instances.Config{}).Create(t.Context(), s)
				if e, ok := errors.AsType[*claims.Error](err); !ok || e.Kind != claims.KindInvalid || e.Field != field || l.sent("") != 0 {
					t.Errorf("%v, %d requests", err, l.sent(""))
				}
			})
		})
	}
}

func vpcNetwork(ipv6 instances.VPCIPv6) instances.Network {
	return instances.Network{Generation: instances.GenerationLinode,
		Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{SubnetID: 1, IPv6: &ipv6}}}}
}

// An interface is of one kind. The refusal names the kinds that are set.
func TestAnInterfaceHasExactlyOneKind(t *testing.T) {
	vpc, vlan := &instances.VPCInterface{SubnetID: 1}, &instances.VLANInterface{Label: "inner"}
	for set, refused := range map[string]instances.Interface{
		"none":              {},
		"public, VPC":       {Public: true, VPC: vpc},
		"VPC, VLAN":         {VPC: vpc, VLAN: vlan},
		"public, VPC, VLAN": {Public: true, VPC: vpc, VLAN: vlan},
	} {
		t.Run(set, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{})
				s := spec("a", "1")
				s.Network = instances.Network{Generation: instances.GenerationLinode, Interfaces: []instances.Interface{refused}}
				_, err := l.start(instances.Config{}).Create(t.Context(), s)
				want := "Spec.Network.Interfaces[0]: exactly one of public, VPC and VLAN must be set (set: " + set + ")"
				if err == nil || !strings.HasSuffix(err.Error(), want) || l.sent("") != 0 {
					t.Errorf("got  %v, %d requests\nwant %s", err, l.sent(""), want)
				}
			})
		})
	}
}
