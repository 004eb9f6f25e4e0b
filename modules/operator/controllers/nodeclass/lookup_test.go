package nodeclass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

func newSim(t *testing.T, profile linodesim.Profile) *linodesim.Sim {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: profile, Tokens: map[string][]string{
		"full": {"*"}, "narrow": {"lke:read_write"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if unknown := sim.Unknown(); len(unknown) > 0 {
			t.Errorf("the simulator does not know %v", unknown)
		}
	})
	return sim
}

func newLookup(t *testing.T, sim *linodesim.Sim, token string) *nodeclass.Lookup {
	t.Helper()
	c, err := linode.New(linode.Config{Token: linode.StaticToken(token), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return nodeclass.NewLookup(c, 4*time.Minute)
}

func calls(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		n += call.N
	}
	return n
}

func addPlacementGroup(t *testing.T, sim *linodesim.Sim, label, region string) int {
	t.Helper()
	return post(t, sim, "/placement/groups",
		fmt.Sprintf(`{"label":%q,"region":%q,"placement_group_type":"anti_affinity:local","placement_group_policy":"strict"}`, label, region))
}

// post makes an object of the account, and returns its ID.
func post(t *testing.T, sim *linodesim.Sim, path, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.linode.com/v4beta"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer full")
	request.Header.Set("Content-Type", "application/json")
	answer, err := sim.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %d %s %v", path, answer.StatusCode, text, err)
	}
	var made struct {
		ID int `json:"id"`
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func TestLookupFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Instant())
		l := newLookup(t, sim, "full")
		firewall, err := l.Firewall(t.Context(), sim.AddFirewall(linodesim.FirewallSpec{Label: "off", Disabled: true}))
		if err != nil || *firewall != (status.Firewall{Label: "off", Status: "disabled"}) {
			t.Errorf("firewall %+v, %v", firewall, err)
		}
		group, err := l.PlacementGroup(t.Context(), addPlacementGroup(t, sim, "here", "us-ord"))
		if err != nil || *group != (status.PlacementGroup{Label: "here", Region: "us-ord", Limit: 5}) {
			t.Errorf("placement group %+v, %v", group, err)
		}
		for id, want := range map[string]status.Image{
			v1alpha1.DefaultImage:  {Label: "Ubuntu 22.04 LTS", Available: true, CloudInit: true},
			"linode/slackware15.0": {Label: "Slackware 15.0", Available: true},
			"linode/debian11":      {Label: "Debian 11", Available: true, CloudInit: true, Deprecated: true},
		} {
			if image, err := l.Image(t.Context(), id); err != nil || *image != want {
				t.Errorf("image %s: %+v, %v", id, image, err)
			}
		}
		before := calls(sim)
		if missing, err := l.Firewall(t.Context(), 999999); missing != nil || err != nil {
			t.Errorf("a firewall that is not there: %+v, %v", missing, err)
		}
		if missing, err := l.Image(t.Context(), "private/999999"); missing != nil || err != nil {
			t.Errorf("an image that is not there: %+v, %v", missing, err)
		}
		if missing, err := l.PlacementGroup(t.Context(), 999999); missing != nil || err != nil {
			t.Errorf("a placement group that is not there: %+v, %v", missing, err)
		}
		if n := calls(sim) - before; n != 3 {
			t.Errorf("%d calls for three objects", n)
		}
	})
}

// How many requests questions cost, in virtual time.
func TestLookupRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Instant())
		l := newLookup(t, sim, "full")
		found := sim.AddFirewall(linodesim.FirewallSpec{Label: "edge"})
		ask := func(id, times int) int {
			before := calls(sim)
			for range times {
				_, _ = l.Firewall(t.Context(), id)
			}
			return calls(sim) - before
		}
		if n := ask(found, 100); n != 1 {
			t.Errorf("%d calls at first", n)
		}
		time.Sleep(4*time.Minute - time.Second)
		if n := ask(found, 100); n != 0 {
			t.Errorf("%d calls before the answer is old", n)
		}
		time.Sleep(time.Second)
		if n := ask(found, 100); n != 1 {
			t.Errorf("%d calls when the answer is old", n)
		}
		// A missing object may be made at any moment, and is read again sooner.
		if n := ask(found+1, 100); n != 1 {
			t.Errorf("%d calls for a firewall that is not there", n)
		}
		if id := sim.AddFirewall(linodesim.FirewallSpec{Label: "late"}); id != found+1 {
			t.Fatalf("the next firewall is %d, not %d", id, found+1)
		}
		time.Sleep(20 * time.Second)
		if late, err := l.Firewall(t.Context(), found+1); late == nil || err != nil {
			t.Errorf("the firewall that was made since: %+v, %v", late, err)
		}
		// Nor does an outage turn every event into requests.
		sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 503}})
		time.Sleep(4 * time.Minute)
		once := ask(found, 1)
		if n := ask(found, 100); once == 0 || n != 0 {
			t.Errorf("%d calls in an outage, and then %d more", once, n)
		}
		sim.HealAll()
		time.Sleep(20 * time.Second)
		if again, err := l.Firewall(t.Context(), found); again == nil || err != nil {
			t.Errorf("after the outage: %+v, %v", again, err)
		}
	})
}

func TestLookupSharesARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Realistic()) // an answer takes a moment
		l := newLookup(t, sim, "full")
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if image, err := l.Image(t.Context(), v1alpha1.DefaultImage); image == nil || err != nil {
					t.Errorf("image %+v, %v", image, err)
				}
			})
		}
		all.Wait()
		if n := calls(sim); n != 1 {
			t.Errorf("%d calls for fifty who asked at once", n)
		}
	})
}

// A missing scope is an answer about the class. A refused token or an API failure is no answer about the class.
func TestLookupErrors(t *testing.T) {
	for _, test := range []struct {
		name, token string
		rule        *linodesim.Rule
		forbidden   bool
	}{
		{"a token without the scope", "narrow", nil, true},
		{"a token that is not known", "wrong", nil, false},
		{"an API in trouble", "full", &linodesim.Rule{Answer: linodesim.Answer{Status: 503}}, false},
		{"a connection that breaks", "full", &linodesim.Rule{Drop: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := newSim(t, linodesim.Instant())
				id := sim.AddFirewall(linodesim.FirewallSpec{Label: "edge"})
				if test.rule != nil {
					sim.Fail(*test.rule)
				}
				found, err := newLookup(t, sim, test.token).Firewall(t.Context(), id)
				if found != nil || err == nil || errors.Is(err, status.ErrForbidden) != test.forbidden {
					t.Errorf("got %+v, %v", found, err)
				}
			})
		})
	}
}

// In instance mode image and placement group are read too, and an outage of the API takes nothing away.
func TestInstanceMode(t *testing.T) {
	sim := newSim(t, linodesim.Instant())
	here, there := addPlacementGroup(t, sim, "here", "us-ord"), addPlacementGroup(t, sim, "there", "de-fra-2")
	mode := func() nodeclass.Config { // a restarted operator remembers nothing
		return nodeclass.Config{Lookup: newLookup(t, sim, "full"), Cluster: func(context.Context) status.Cluster {
			return status.Cluster{Mode: v1alpha1.ModeInstance, Region: "us-ord", ControlPlaneVersion: "v1.35.1"}
		}}
	}
	for name, test := range map[string]struct {
		image, reason string
		group         int
	}{
		"instance-ready": {"linode/debian12", "Ready", here},
		"instance-plain": {"linode/slackware15.0", v1alpha1.ReasonImageUnsuitable, here},
		"instance-image": {"private/999999", v1alpha1.ReasonImageNotFound, here},
		"instance-there": {"linode/debian12", v1alpha1.ReasonPlacementGroupWrongRegion, there},
		"instance-group": {"linode/debian12", v1alpha1.ReasonPlacementGroupNotFound, 999999},
	} {
		class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		class.Spec.Image, class.Spec.PlacementGroup = test.image, &v1alpha1.PlacementGroup{ID: test.group}
		create(t, class)
		inCache(t, class)
		class = start(cached, mode()).until(t, name, "it says "+test.reason, readyWith(test.reason))
		if class.Annotations[v1alpha1.AnnotationHash] != class.Hash(v1alpha1.ModeInstance) {
			t.Errorf("%s has the hash of another mode", name)
		}
	}

	ready := &v1alpha1.LinodeNodeClass{}
	ready.Name = "instance-ready"
	rule := sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 401}}) // answered at once, unlike 503
	p := start(cached, mode())
	for range 3 {
		if _, err := p.reconcile(t.Context(), ready.Name); err != nil {
			t.Fatal(err)
		}
	}
	if class := p.until(t, ready.Name, "it is looked at", func(*v1alpha1.LinodeNodeClass) bool { return true }); !readyWith("Ready")(class) ||
		len(p.recorder.said) > 0 {
		t.Errorf("in an outage: %v, %q", class.Status, p.recorder.said)
	}
	if sim.Hits(rule) == 0 {
		t.Error("nothing was asked in the outage")
	}
}

func TestLookupFindsWhatInstanceModeNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim(t, linodesim.Instant())
		l := newLookup(t, sim, "full")
		region, err := l.Region(t.Context(), "us-ord")
		if err != nil || !slices.Contains(region.Capabilities, status.CapabilityMetadata) {
			t.Errorf("region %+v, %v", region, err)
		}
		if missing, err := l.Region(t.Context(), "mars"); missing != nil || err != nil {
			t.Errorf("a region that is not there: %+v, %v", missing, err)
		}
		if missing, err := l.VPC(t.Context(), 999999); missing != nil || err != nil {
			t.Errorf("a VPC that is not there: %+v, %v", missing, err)
		}
		for pattern, want := range map[string]string{"Ubuntu 22.04*": "linode/ubuntu22.04", "Debian 11": "", "Slackware*": "", "[U]buntu*": "",
			"no such image": ""} {
			if id, _, err := l.NewestImage(t.Context(), pattern); err != nil || id != want {
				t.Errorf("the newest image like %q is %q, %v; expected %q", pattern, id, err, want)
			}
		}
	})
}
