package prometheus_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/prometheus"
)

func TestATargetIsScrapedAndItsAlertsAreEvaluated(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, "errors_total{kind=\"a\"} 3\n")
	}))
	defer target.Close()
	server, err := prometheus.Start(target.URL+"/metrics", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		found, err := server.Query(t.Context(), `errors_total{job="karpenter"}`)
		if err == nil && len(found) == 1 && found[0].F == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was scraped: %v, %v", found, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	now := time.Now()
	over, err := server.Range(t.Context(), `errors_total + 1`, now.Add(-2*time.Second), now, time.Second)
	if err != nil || len(over) != 1 || len(over[0].Floats) == 0 || over[0].Floats[0].F != 4 || over[0].Metric.Get("kind") != "a" {
		t.Errorf("%v, %v", over, err)
	}
	if _, err := server.Range(t.Context(), `errors_total +`, now, now, time.Second); err == nil {
		t.Error("an expression that is none was evaluated")
	}
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("groups: [{name: g, rules: [{alert: Many, expr: errors_total > 2}, {alert: Few, expr: errors_total < 2}]}]\n")
	alerts, err := server.Evaluate(t.Context(), file)
	if err != nil || len(alerts) != 2 || len(alerts[0].Active) != 1 || alerts[0].Active[0].Get("kind") != "a" || len(alerts[1].Active) != 0 {
		t.Errorf("%+v, %v", alerts, err)
	}
	for text, words := range map[string]string{
		"groups: [{name: g, rules: [{alert: Many, expr: errors_total >}]}]\n":     "could not parse expression",
		"groups: [{name: g, rules: [{alert: Many, expr: up, texts: a}]}]\n":       "texts",
		"groups: [{name: g, rules: [{alert: Many, expr: up / on(a) x, for: s}]}]": "s",
	} {
		write(text)
		if _, err := server.Evaluate(t.Context(), file); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", text, err, words)
		}
	}
}

// alerting scrapes a target and returns a function that returns whether an alert of the chart is active.
func alerting(t *testing.T, metrics func() string) (server *prometheus.Server, active func(alert string) bool) {
	t.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics()) }))
	t.Cleanup(target.Close)
	server, err := prometheus.Start(target.URL+"/metrics", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	alerts := filepath.Join("..", "..", "charts", "karpenter", "files", "alerts.yaml")
	return server, func(alert string) bool {
		all, err := server.Evaluate(t.Context(), alerts)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(all, func(a prometheus.Alert) bool { return a.Name == alert })
		return at >= 0 && len(all[at].Active) > 0
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// The operator exports each outcome from its start, at 0. One overdue purchase is enough.
func TestTheAlertOnOverduePurchasesFires(t *testing.T) {
	const alert = "KarpenterLinodePurchaseOverdue"
	var overdue atomic.Int64
	server, active := alerting(t, func() string {
		return fmt.Sprintf("karpenter_linode_claims_total{outcome=\"claimed\"} 7\nkarpenter_linode_claims_total{outcome=\"overdue\"} %d\n",
			overdue.Load())
	})
	until(t, "two scrapes", func() bool {
		found, err := server.Query(t.Context(), `count_over_time(karpenter_linode_claims_total{outcome="overdue"}[1m]) >= 2`)
		return err == nil && len(found) == 1
	})
	if active(alert) {
		t.Error("it fires before anything is overdue")
	}
	overdue.Store(1)
	until(t, "the alert fires", func() bool { return active(alert) })
}

// The condition is on a NodePool only while empty nodes stay, and its series goes with it.
func TestTheAlertOnEmptyNodesFires(t *testing.T) {
	const alert = "KarpenterLinodeEmptyNodesStay"
	const others = "operator_nodepool_status_condition_count{name=\"default\",type=\"Ready\",status=\"True\"} 1\n"
	var stay atomic.Bool
	server, active := alerting(t, func() string {
		if stay.Load() {
			return others + "operator_nodepool_status_condition_count{name=\"default\",type=\"EmptyNodesStay\",status=\"True\"} 1\n"
		}
		return others
	})
	until(t, "a scrape", func() bool {
		found, err := server.Query(t.Context(), `operator_nodepool_status_condition_count`)
		return err == nil && len(found) == 1
	})
	if active(alert) {
		t.Error("it fires while no empty node stays")
	}
	stay.Store(true)
	until(t, "the alert fires", func() bool { return active(alert) })
	stay.Store(false)
	until(t, "the alert ends", func() bool { return !active(alert) })
}

// In a lapse the second between two scrapes counts as several.
func TestLapse(t *testing.T) {
	const speed = 10
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here 1\n") }))
	defer target.Close()
	server, err := prometheus.StartLapse(target.URL+"/metrics", t.TempDir(), speed)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	var at []float64
	for deadline := time.Now().Add(2 * time.Minute); len(at) < 2; time.Sleep(50 * time.Millisecond) {
		found, err := server.Query(t.Context(), `timestamp(here)`)
		if err == nil && len(found) == 1 && (len(at) == 0 || found[0].F != at[0]) {
			at = append(at, found[0].F)
		}
		if time.Now().After(deadline) {
			t.Fatalf("scraped at %v, %v", at, err)
		}
	}
	if apart := at[1] - at[0]; apart < 0.9*speed {
		t.Errorf("scrapes are %v s apart, want at least %v", apart, speed)
	}
}
