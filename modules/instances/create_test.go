package instances_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestOneRequestMakesAnInstanceThatIsItsClaimants(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		want := spec("default-x7k2p", "5f6c")
		want.Tags, want.Kernel = []string{"team-a"}, "linode/grub2"
		i := p.create(t, want)
		if i.Label != "demo-default-x7k2p" || i.Claim != "default-x7k2p" || i.Plan != want.Plan || i.Region != "us-ord" {
			t.Errorf("instance %+v", i)
		}
		for _, tag := range []string{clusterTag, "karpenter.sh/nodeclaim=default-x7k2p", "team-a"} {
			if !slices.Contains(i.Tags, tag) {
				t.Errorf("tag %s is missing in %v", tag, i.Tags)
			}
		}
		if l.sent("POST") != 1 || l.sent("") != 2 {
			t.Errorf("requests %v, want one list and one POST", l.requests)
		}
		again := p.create(t, want)
		if again.ID != i.ID || l.created() != 1 {
			t.Errorf("asked again: %d, first %d, %d made", again.ID, i.ID, l.created())
		}
		if err := p.Delete(t.Context(), i.ID, want.Claimant); err != nil {
			t.Fatal(err)
		}
		wantKind(t, p.Delete(t.Context(), i.ID, want.Claimant), instances.KindNotFound)
	})
}

func TestLostAnswerIsResolvedByItsLabel(t *testing.T) {
	for name, rule := range map[string]linodesim.Rule{
		"after the effect":  {Method: "POST", Route: instancesRoute, Times: 1, Drop: true, AfterEffect: true},
		"before the effect": {Method: "POST", Route: instancesRoute, Times: 1, Drop: true},
		"a 503 after it":    {Method: "POST", Route: instancesRoute, Times: 1, Status: 503, AfterEffect: true},
		"no answer":         {Method: "POST", Route: instancesRoute, Times: 1, Hang: true, AfterEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
				l.sim.Fail(rule)
				p := l.start(instances.Config{})
				i := p.create(t, spec("a", "1"))
				if l.created() != 1 || len(l.ours()) != 1 || l.ours()[0].ID != i.ID {
					t.Errorf("%d made, there are %v, returned %d", l.created(), l.ours(), i.ID)
				}
			})
		})
	}
}

// The list does not show the instance for two minutes; the API refuses its label.
func TestLaggingListsCostTimeAndNoSecondInstance(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		first := l.start(instances.Config{})
		l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, Stale: 110 * time.Second})
		i := first.create(t, spec("a", "1"))
		first.kill()
		second := l.start(instances.Config{})
		began := time.Now()
		again := second.create(t, spec("a", "1"))
		if again.ID != i.ID || l.created() != 1 {
			t.Errorf("the next process got %d, the first %d; %d made", again.ID, i.ID, l.created())
		}
		if took := time.Since(began); took > 150*time.Second {
			t.Errorf("took %s", took)
		}
		list, err := second.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Errorf("list %v, %v", list, err)
		}
	})
}

func TestALabelOfAStrangerIsAConflict(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		id, err := l.sim.AddInstance(linodesim.InstanceSpec{Label: "demo-a", Type: "g6-nanode-1"})
		if err != nil {
			t.Fatal(err)
		}
		l.foreign = append(l.foreign, id)
		p := l.start(instances.Config{})
		for range 3 {
			_, err = p.Create(within(t, time.Minute), spec("a", "1"))
			wantKind(t, err, instances.KindConflict)
			if !strings.Contains(fmt.Sprint(err), fmt.Sprint(id)) || !strings.Contains(fmt.Sprint(err), "demo-a") {
				t.Errorf("the error does not name Linode and label: %v", err)
			}
		}
		if n := l.sent("POST"); n != 1 || l.sent("") != 4 {
			t.Errorf("requests %v for a label that is known to be taken, want two lists, one POST and one read", l.requests)
		}
		if err := l.sim.DeleteInstance(id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // for which the answer is repeated without a request
		p.create(t, spec("a", "1"))
	})
}

func TestALaterClaimantOfTheNameWaitsForTheFirstOnesEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		_, err := p.Create(within(t, time.Minute), spec("a", "2"))
		wantKind(t, err, instances.KindConflict)
		wantKind(t, p.Delete(t.Context(), i.ID, instances.Claimant{Name: "a", UID: "2"}), instances.KindConflict)
		if len(l.ours()) != 1 {
			t.Fatal("the first claimant's instance was removed")
		}
		if err := p.Delete(t.Context(), i.ID, instances.Claimant{Name: "a", UID: "1"}); err != nil {
			t.Fatal(err)
		}
		if again := p.create(t, spec("a", "2")); again.ID == i.ID {
			t.Error("the removed instance was returned")
		}
	})
}

// A person renames the Linode, and the process ends: the tags show whose it is.
func TestARenamedInstanceIsFoundByItsTags(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		p := l.start(instances.Config{})
		i := p.create(t, spec("a", "1"))
		l.rename(i.ID, "another-name")
		if again := p.create(t, spec("a", "1")); again.ID != i.ID {
			t.Error("the same process made another")
		}
		p.kill()
		if again := l.start(instances.Config{}).create(t, spec("a", "1")); again.ID != i.ID || l.created() != 1 {
			t.Error("the next process made another")
		}
	})
}

func (l *lab) rename(id int, label string) {
	l.t.Helper()
	request, err := http.NewRequest(http.MethodPut, fmt.Sprintf("https://api.linode.com/v4beta/linode/instances/%d", id), strings.NewReader(`{"label":"`+label+`"}`))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.sim.Transport().RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		l.t.Fatalf("rename: %v %v", answer, err)
	}
	_ = answer.Body.Close()
}

func TestRefusalsNameTheFieldAndWhatToDo(t *testing.T) {
	type scene struct {
		name, field string
		kind        instances.Kind
		change      func(*instances.Spec)
		prepare     func(*lab)
	}
	for _, c := range []scene{
		{name: "bad image", field: "Spec.Image", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.Image = "linode/none" }},
		{name: "bad region", field: "Spec.Region", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.Region = "us-none" }},
		{name: "bad plan", field: "Spec.Plan", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.Plan = "g6-none" }},
		{name: "bad firewall", field: "Spec.Network.FirewallID", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.Network.FirewallID = 77 }},
		{name: "bad subnet", field: "Spec.Network.Interfaces[0].subnet_id", kind: instances.KindInvalid, change: func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLinode, Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{SubnetID: 77}}}}
		}},
		{name: "no such placement group", field: "Spec.PlacementGroup", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.PlacementGroup.ID = 77 }},
		{name: "disk larger than the plan", field: "Spec.Storage.SwapMB", kind: instances.KindInvalid, change: func(s *instances.Spec) { s.Storage.BootMB = 900_000 }},
		{name: "account limit", kind: instances.KindQuotaExceeded, prepare: func(l *lab) { l.sim.SetAccountLimit(1) }},
		{name: "no capacity", field: "Spec.Plan", kind: instances.KindInsufficientCapacity, prepare: func(l *lab) { l.sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2"}) }},
		{name: "plan not in the region", kind: instances.KindInsufficientCapacity, prepare: func(l *lab) {
			l.sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2", Reason: "This plan is not available in the selected region"})
		}},
		{name: "placement group full", field: "Spec.PlacementGroup", kind: instances.KindQuotaExceeded, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Status: 400, Field: "placement_group.id", Reason: "A placement group in region us-ord holds 5 Linodes; this one has 5"})
		}},
		{name: "placement group not compliant", field: "Spec.PlacementGroup", kind: instances.KindInsufficientCapacity, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Status: 400, Field: "placement_group", Reason: "Cannot place the Linode compliantly"})
		}},
		{name: "words of capacity about another field", field: "Spec.Tags[0]", kind: instances.KindInvalid, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Status: 400, Field: "tags[0]", Reason: "limited to 50 characters"})
		}},
		{name: "scope", kind: instances.KindForbidden, prepare: func(l *lab) {
			l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Status: 403, Reason: "insufficient scope"})
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
				e, ok := errors.AsType[*instances.Error](err)
				if !ok || c.field != "" && !strings.HasPrefix(e.Field, c.field) || e.Effect != instances.EffectNone {
					t.Errorf("error %+v, want field %s and no effect", err, c.field)
				}
				if len(l.ours()) != 0 {
					t.Error("something was made")
				}
			})
		})
	}
}

// One claimant learns that there is no room; the others of the burst get the same
// answer without a request each.
func TestARefusalAnswersTheWholeBurst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		l.sim.SetAccountLimit(1)
		p := l.start(instances.Config{})
		began := time.Now()
		burst(t, 100, func(n int) {
			_, err := p.Create(within(t, 5*time.Minute), spec(fmt.Sprintf("a-%d", n), "1"))
			wantKind(t, err, instances.KindQuotaExceeded)
		})
		if took := time.Since(began); took > 3*time.Second || l.sent("POST") > 20 {
			t.Errorf("took %s and %d POSTs", took, l.sent("POST"))
		}
	})
}

func burst(t *testing.T, n int, one func(n int)) {
	t.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { one(i) })
	}
	group.Wait()
}

func TestAHundredClaimantsArePacedWithoutA429(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		began := time.Now()
		ids := make([]int, 100)
		burst(t, len(ids), func(n int) {
			i, err := p.Create(within(t, 3*time.Minute), spec(fmt.Sprintf("default-%03d", n), fmt.Sprint(n)))
			if err != nil {
				t.Error(err)
			}
			ids[n] = i.ID
		})
		took := time.Since(began)
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 100 || l.created() != 100 {
			t.Errorf("%d instances made", l.created())
		}
		if l.throttled() != 0 {
			t.Errorf("%d answers were 429", l.throttled())
		}
		if floor := 75 * time.Second; took > floor*115/100 {
			t.Errorf("took %s, the limit of 20 per 15 s sets %s", took, floor)
		}
		if calls := float64(l.sent("")) / 100; calls > 2.2 {
			t.Errorf("%.2f calls per claim", calls)
		}
		t.Logf("100 claimants: %s, %d calls", took, l.sent(""))
	})
}

// Callers come back as a controller's do, with a deadline of 10 s each.
func TestACallerWhoseTimeEndsLearnsItsPosition(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{})
		var mu sync.Mutex
		var texts []string
		began := time.Now()
		burst(t, 100, func(n int) {
			for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
				_, err := p.Create(within(t, 10*time.Second), spec(fmt.Sprintf("default-%03d", n), fmt.Sprint(n)))
				if err == nil {
					return
				}
				wantKind(t, err, instances.KindProvisioning)
				mu.Lock()
				texts = append(texts, err.Error())
				mu.Unlock()
				time.Sleep(pause)
			}
		})
		if !slices.ContainsFunc(texts, func(text string) bool {
			return strings.Contains(text, "position 37 of 80, next slot in ")
		}) {
			t.Errorf("no caller was told position 37 of 80: %v", texts[:min(5, len(texts))])
		}
		if took := time.Since(began); took > 110*time.Second || l.created() != 100 || l.throttled() != 0 {
			t.Errorf("took %s, %d made, %d throttled", took, l.created(), l.throttled())
		}
	})
}

func TestA429OfAnotherClientIsWaitedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Method: "POST", Route: instancesRoute, Status: 429, RetryAfter: 100 * time.Second, Times: 1})
		p := l.start(instances.Config{})
		_, err := p.Create(within(t, 20*time.Second), spec("a", "1"))
		wantKind(t, err, instances.KindRateLimited)
		if e, ok := errors.AsType[*instances.Error](err); !ok || e.RetryAfter < 70*time.Second {
			t.Errorf("%+v", err)
		}
		p.create(t, spec("a", "1"))
		if l.created() != 1 {
			t.Errorf("%d made", l.created())
		}
	})
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
		{"too large, gzip would help, and is not wanted", instances.UserData{Content: bytes.Repeat([]byte("machine: {}\n"), 5000), Verbatim: true}, false},
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
				wantKind(t, err, instances.KindInvalid)
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

func TestACallEndsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Fast()})
		l.sim.Fail(linodesim.Rule{Hang: true})
		p := l.start(instances.Config{})
		began := time.Now()
		for _, call := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := p.Create(ctx, spec("a", "1")); return err },
			func(ctx context.Context) error { _, err := p.List(ctx); return err },
			func(ctx context.Context) error { _, err := p.Get(ctx, 5); return err },
			func(ctx context.Context) error { return p.Delete(ctx, 5, instances.Claimant{}) },
		} {
			if err := call(within(t, 3*time.Second)); err == nil {
				t.Error("no error")
			}
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestInvalidSpecsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	for field, change := range map[string]func(*instances.Spec){
		"Spec.Plan":               func(s *instances.Spec) { s.Plan = "" },
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
		"Spec.Network.Interfaces[0].VPC.SubnetID": func(s *instances.Spec) {
			s.Network = instances.Network{Generation: instances.GenerationLegacy, Interfaces: []instances.Interface{{VPC: &instances.VPCInterface{}}}}
		},
	} {
		t.Run(field, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, linodesim.Config{})
				s := spec("a", "1")
				change(&s)
				_, err := l.start(instances.Config{}).Create(t.Context(), s)
				if e, ok := errors.AsType[*instances.Error](err); !ok || e.Kind != instances.KindInvalid || e.Field != field || l.sent("") != 0 {
					t.Errorf("%v, %d requests", err, l.sent(""))
				}
			})
		})
	}
}

func TestMaxInstancesIsACeiling(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := newLab(t, linodesim.Config{Profile: linodesim.Realistic()})
		p := l.start(instances.Config{MaxInstances: 3})
		burst(t, 5, func(n int) {
			_, err := p.Create(within(t, time.Minute), spec(fmt.Sprintf("a-%d", n), "1"))
			if err != nil {
				wantKind(t, err, instances.KindQuotaExceeded)
			}
		})
		if len(l.ours()) != 3 {
			t.Errorf("%d instances", len(l.ours()))
		}
	})
}
