package hostmaintenance_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider/hostmaintenance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// hosts are a simulated account with one Linode, which a NodeClaim has, and a Watcher of it.
type hosts struct {
	sim     *linodesim.Sim
	linode  int
	watcher *hostmaintenance.Watcher
	events  recorder
	nodes   int // concerned, as last reported
}

// recorder keeps events.
type recorder []events.Event

func (r *recorder) Publish(published ...events.Event) { *r = append(*r, published...) }

func newHosts(t *testing.T, scopes ...string) *hosts {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant(),
		Tokens: map[string][]string{"token": scopes}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Region: "us-ord"})
	if err != nil {
		t.Fatal(err)
	}
	api, err := linode.New(linode.Config{Token: linode.StaticToken("token"), BaseURL: "https://api.example.com", Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "mine", UID: "1"},
		Status: karpv1.NodeClaimStatus{ProviderID: nodeclaim.ProviderID(id)}}
	h := &hosts{sim: sim, linode: id, nodes: -1}
	h.watcher = hostmaintenance.New(hostmaintenance.Config{
		API: api, Kube: fake.NewClientBuilder().WithObjects(claim).Build(), Events: &h.events, Interval: time.Minute,
		OnPending: func(nodes int) { h.nodes = nodes },
	})
	return h
}

func (h *hosts) announce(t *testing.T, m *linodesim.HostMaintenance) {
	t.Helper()
	if err := h.sim.AnnounceMaintenance(h.linode, m); err != nil {
		t.Fatal(err)
	}
}

func (h *hosts) read(t *testing.T) {
	t.Helper()
	if err := h.watcher.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestMaintenanceIsPendingWhenTwoReadingsShowIt(t *testing.T) {
	h := newHosts(t, "account:read_only")
	h.read(t)
	h.announce(t, &linodesim.HostMaintenance{Type: "cold_migration", Status: "pending", When: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Reason: "upgrade"})
	h.read(t)
	if h.watcher.Pending(h.linode) || h.nodes != 0 {
		t.Error("one reading was believed")
	}
	h.read(t)
	if !h.watcher.Pending(h.linode) || h.nodes != 1 {
		t.Errorf("two readings show it; pending=%t, %d NodeClaims", h.watcher.Pending(h.linode), h.nodes)
	}
	if h.watcher.Pending(h.linode + 1) {
		t.Error("another Linode's host has maintenance pending, too")
	}
	if len(h.events) != 1 {
		t.Fatalf("events %+v, want one", h.events)
	}
	for _, part := range []string{"cold_migration", "2030-01-02T03:04:05 UTC", "budgets"} {
		if e := h.events[0]; e.Reason != hostmaintenance.EventHostMaintenance || !strings.Contains(e.Message, part) ||
			e.DedupeTimeout < time.Hour {
			t.Errorf("the event has no %q, or would be repeated with each reading: %+v", part, e)
		}
	}
	// The API fails, which proves nothing; then the maintenance is cancelled.
	rule := h.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 403}, Route: "/account/maintenance"})
	if err := h.watcher.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "account:read_only") {
		t.Errorf("got %v", err)
	}
	if !h.watcher.Pending(h.linode) {
		t.Error("a reading that failed was believed")
	}
	h.sim.Heal(rule)
	h.announce(t, nil)
	h.read(t)
	if h.watcher.Pending(h.linode) || h.nodes != 0 {
		t.Error("it is pending after it was cancelled")
	}
}

func TestWhatDoesNotInterruptANodeIsNotPending(t *testing.T) {
	h := newHosts(t, "*")
	for _, m := range []linodesim.HostMaintenance{
		{Type: "live_migration", Status: "pending"}, {Type: "reboot", Status: "started"}, {Type: "reboot", Status: "completed"},
		{Type: "power_off_on", Status: "in-progress"}, {Type: "migrate", Status: "canceled"},
	} {
		h.announce(t, &m)
		h.read(t)
		h.read(t)
		if h.watcher.Pending(h.linode) {
			t.Errorf("%s, %s", m.Type, m.Status)
		}
	}
	for _, m := range []linodesim.HostMaintenance{{Type: "reboot", Status: "pending"}, {Type: "power_off_on", Status: "scheduled"},
		{Type: "of a new kind", Status: "pending"}} {
		h.announce(t, &m)
		h.read(t)
		h.read(t)
		if !h.watcher.Pending(h.linode) {
			t.Errorf("%s, %s is not pending", m.Type, m.Status)
		}
	}
}

func TestAWatcherReadsOnAnIntervalUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHosts(t, "account:read_only")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.watcher.Start(ctx) }()
		time.Sleep(10*time.Minute + time.Second)
		if n := len(h.sim.Calls()); n == 0 {
			t.Error("it has read nothing")
		}
		for _, call := range h.sim.Calls() {
			if call.N != 11 {
				t.Errorf("%d calls of %s in 10 minutes, want one a minute", call.N, call.Route)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
