package lke_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

const url = "https://api.example.com"

type world struct {
	sim    *linodesim.Sim
	client *linode.Client
	scopes *discovery.Scopes
}

func newWorld(t *testing.T, token string, clusters ...linodesim.ClusterSpec) world {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant(), Tokens: map[string][]string{
		"full": {"*"}, "enough": {"lke:read_write", "linodes:read_write"}, "reader": {"lke:read_only", "linodes:read_only"},
		"account-reader": {"lke:read_write", "linodes:read_write", "account:read_only"},
		"account-writer": {"lke:read_write", "linodes:read_write", "account:read_write"},
		"no-linodes":     {"lke:read_write"}, "no-lke": {"linodes:read_write"},
		"no-role": {"lke:read_write", "linodes:read_write"}, "viewer": {"lke:read_write", "linodes:read_write"}, "admin": {"*"},
	}, Roles: map[string][]string{"no-role": {}, "viewer": {"lkecluster_viewer"}, "admin": {"lkecluster_admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range clusters {
		if _, err := sim.AddCluster(spec); err != nil {
			t.Fatal(err)
		}
	}
	scopes := &discovery.Scopes{Next: sim.Transport()}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(token), BaseURL: url, Transport: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return world{sim, client, scopes}
}

func (w world) find(t *testing.T, name, region string) (lke.Cluster, error) {
	t.Helper()
	return lke.FindCluster(t.Context(), w.client, discovery.Wanted{Name: name, Region: region, URL: url, Scopes: w.scopes.Last})
}

var pool = []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}

func TestFind(t *testing.T) {
	standard := linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Tier: linodesim.Standard, K8sVersion: "1.34", Pools: pool}
	enterprise := linodesim.ClusterSpec{Label: "big", Region: "us-ord", Tier: linodesim.Enterprise, K8sVersion: "v1.33.6+lke7"}
	w := newWorld(t, "enough", standard, enterprise, linodesim.ClusterSpec{Label: "demo-2", Region: "us-east", Pools: pool})
	tests := []struct {
		name string
		want lke.Cluster
	}{
		{"demo", lke.Cluster{Cluster: lkepools.Cluster{Name: "demo", Tier: "standard"}, Region: "us-ord", Version: "1.34"}},
		{"big", lke.Cluster{Cluster: lkepools.Cluster{Name: "big", Tier: "enterprise"}, Region: "us-ord", Version: "v1.33.6+lke7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.find(t, tt.name, "us-ord")
			if err != nil {
				t.Fatal(err)
			}
			if got.ID == 0 {
				t.Error("no ID")
			}
			got.ID = 0
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	for _, call := range w.sim.Calls() {
		if call.Method != http.MethodGet {
			t.Errorf("%s %s was called", call.Method, call.Route)
		}
	}
}

func TestProblemsAreOneLine(t *testing.T) {
	demo := linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Pools: pool}
	tests := []struct {
		name, token string
		clusters    []linodesim.ClusterSpec
		rule        *linodesim.Rule
		region      string
		setting     string
		says        []string
	}{
		{"no cluster", "full", nil, nil, "", "CLUSTER_NAME", []string{`no LKE cluster`, `"demo"`}},
		{"only one with a longer name", "full", []linodesim.ClusterSpec{{Label: "demo-2", Region: "us-ord", Pools: pool}}, nil, "",
			"CLUSTER_NAME", []string{"no LKE cluster"}},
		{"two clusters", "full", []linodesim.ClusterSpec{demo, demo}, nil, "", "CLUSTER_NAME", []string{"2 LKE clusters", "IDs"}},
		{"another region", "full", []linodesim.ClusterSpec{demo}, nil, "de-fra-2", "CLUSTER_REGION", []string{"de-fra-2", "us-ord"}},
		{"refused token", "wrong", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN", []string{"401", url}},
		{"no token to send", "", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN", []string{"no usable token"}},
		{"token without any lke scope", "no-lke", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN", []string{"403", "lke:read_write"}},
		{"token without any linodes scope", "no-linodes", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN",
			[]string{"403", "linodes:read_write"}},
		{"token that may only read", "reader", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN",
			[]string{"lacks the scopes lke:read_write and linodes:read_write"}},
		{"user without a role", "no-role", []linodesim.ClusterSpec{demo}, nil, "", "LINODE_TOKEN",
			[]string{"lacks the role lkecluster_viewer", "although the token has the scope lke:read_only", "the roles lkecluster_admin"}},
		{"user whose roles show no cluster", "viewer", nil, nil, "", "CLUSTER_NAME",
			[]string{"restricted to its roles", "the roles lkecluster_admin and account_linode_admin"}},
		{"API in trouble", "full", []linodesim.ClusterSpec{demo}, &linodesim.Rule{Answer: linodesim.Answer{Status: 503}}, "", "LINODE_URL",
			[]string{"503", url}},
		{"connection lost", "full", []linodesim.ClusterSpec{demo}, &linodesim.Rule{Drop: true}, "", "LINODE_URL", []string{url}},
		{"a proxy's page", "full", []linodesim.ClusterSpec{demo}, &linodesim.Rule{Answer: linodesim.Answer{Status: 502, HTML: true}}, "",
			"LINODE_URL", []string{"502"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.token, tt.clusters...)
				if tt.rule != nil {
					w.sim.Fail(*tt.rule)
				}
				start := time.Now()
				_, err := w.find(t, "demo", tt.region)
				var problem *options.Error
				if !errors.As(err, &problem) || problem.Name != tt.setting || problem.Fix == "" {
					t.Fatalf("got %v, want a problem with %s that says what to do", err, tt.setting)
				}
				for _, text := range tt.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("%q does not say %q", err, text)
					}
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%q is more than one line", err)
				}
				if elapsed := time.Since(start); elapsed > time.Minute {
					t.Errorf("it took %s; a start must not retry for long", elapsed)
				}
			})
		})
	}
}

func TestAScopeThatAnOptionalFeatureTakesIsAskedForByName(t *testing.T) {
	demo := linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Pools: pool}
	for token, missing := range map[string]bool{"enough": true, "full": false, "account-reader": false, "account-writer": false} {
		w := newWorld(t, token, demo)
		_, err := lke.FindCluster(t.Context(), w.client,
			discovery.Wanted{Name: "demo", URL: url, Scopes: w.scopes.Last, Needs: []string{"account:read_only"}})
		if (err != nil) != missing || missing && !strings.Contains(err.Error(), "lacks the scopes account:read_only") {
			t.Errorf("token %s: %v", token, err)
		}
	}
}

func TestARestrictedUserIsReported(t *testing.T) {
	for token, restricted := range map[string]bool{"full": false, "enough": false, "viewer": true, "admin": true} {
		w := newWorld(t, token, linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Pools: pool})
		var user string
		_, err := lke.FindCluster(t.Context(), w.client, discovery.Wanted{Name: "demo", URL: url, Scopes: w.scopes.Last,
			OnRestricted: func(name string) { user = name }})
		if err != nil || (user != "") != restricted {
			t.Errorf("token %s: user %q, %v", token, user, err)
		}
	}
}

func TestTrackerFollowsTheVersionAndReadsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "full", linodesim.ClusterSpec{Label: "demo", Region: "us-ord", K8sVersion: "1.34", Pools: pool})
		cluster, err := w.find(t, "demo", "")
		if err != nil {
			t.Fatal(err)
		}
		cluster.Version = "1.33" // as it was before an upgrade
		tracker := lke.NewTracker(w.client, cluster, 4*time.Minute)
		for range 100 {
			if got := tracker.Cluster(t.Context()).Version; got != "1.33" {
				t.Fatalf("got %s before the time", got)
			}
		}
		time.Sleep(4 * time.Minute)
		rule := w.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Route: "/lke/clusters/{clusterId}"})
		if got := tracker.Cluster(t.Context()).Version; got != "1.33" {
			t.Errorf("got %q while the API fails, want what was known", got)
		}
		w.sim.Heal(rule)
		time.Sleep(4 * time.Minute)
		before := reads(w.sim)
		for range 100 {
			if got := tracker.Cluster(t.Context()).Version; got != "1.34" {
				t.Fatalf("got %s after an upgrade", got)
			}
		}
		if n := reads(w.sim) - before; n != 1 {
			t.Errorf("read the cluster %d times, want once", n)
		}
	})
}

// The cluster is upgraded within an hour. Ten classes that read every five minutes see the upgrade within the age of an answer and their
// own interval, and cost as many requests as one class.
func TestTrackerNoticesAnUpgradeWithinItsBudget(t *testing.T) {
	const from, to = "v1.32.9+lke5", "v1.33.6+lke7"
	const ttl, interval, upgrade, classes = 4 * time.Minute, 5 * time.Minute, 17 * time.Minute, 10
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "full", linodesim.ClusterSpec{Label: "big", Region: "us-ord", Tier: linodesim.Enterprise, K8sVersion: from})
		cluster, err := w.find(t, "big", "")
		if err != nil {
			t.Fatal(err)
		}
		tracker := lke.NewTracker(w.client, cluster, ttl)
		before, start := total(w.sim), time.Now()
		time.AfterFunc(upgrade, func() {
			if err := w.sim.UpgradeCluster(cluster.ID, to); err != nil {
				t.Error(err)
			}
		})
		var all sync.WaitGroup
		for i := range classes {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Second)
				for time.Since(start) < time.Hour {
					version, at := tracker.Cluster(t.Context()).Version, time.Since(start)
					if at < upgrade && version != from || at > upgrade+ttl+interval && version != to {
						t.Errorf("after %s class %d sees %s", at, i, version)
					}
					time.Sleep(interval)
				}
			})
		}
		all.Wait()
		if n := total(w.sim) - before; n > int(time.Hour/ttl) || n == 0 {
			t.Errorf("%d calls in an hour", n)
		}
	})
}

func total(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		n += call.N
	}
	return n
}

func reads(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		if call.Route == "/lke/clusters/{clusterId}" {
			n += call.N
		}
	}
	return n
}

// API version v4 does not show the tier: an Enterprise cluster would look like a Standard cluster.
func TestEnterpriseNeedsTheBetaAPI(t *testing.T) {
	w := newWorld(t, "full", linodesim.ClusterSpec{Label: "big", Region: "us-ord", Tier: linodesim.Enterprise, K8sVersion: "v1.33.6+lke7"})
	client, err := linode.New(linode.Config{Token: linode.StaticToken("full"), BaseURL: url, APIVersion: "v4", Transport: w.scopes})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lke.FindCluster(t.Context(), client, discovery.Wanted{Name: "big", URL: url, Scopes: w.scopes.Last})
	var problem *options.Error
	if !errors.As(err, &problem) || problem.Name != "LINODE_API_VERSION" {
		t.Errorf("got %v", err)
	}
}
