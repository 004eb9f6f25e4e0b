package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// listing serves what an API without tokens lists.
func listing(t *testing.T) string {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: a token was sent", r.URL)
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v4"
}

func TestACatalogThatIsListedStaysAsItIs(t *testing.T) {
	listed, err := read(t.Context(), http.DefaultClient, listing(t))
	if err != nil {
		t.Fatal(err)
	}
	old := catalog.New()
	renewed, err := renew(old, listed, "2026-12-24")
	if err != nil {
		t.Fatal(err)
	}
	if lines := changes(old, renewed); len(lines) > 0 {
		t.Errorf("changes:\n%s", strings.Join(lines, "\n"))
	}
	if renewed.Date != "2026-12-24" || renewed.Prices != "2026-12-24" || len(renewed.Missing) > 0 {
		t.Errorf("of %s, prices of %s, %d plans with missing fields", renewed.Date, renewed.Prices, len(renewed.Missing))
	}
	if !reflect.DeepEqual(renewed.Images, old.Images) || !reflect.DeepEqual(renewed.Versions, old.Versions) ||
		len(renewed.ControlPlanes) == 0 {
		t.Error("what is not listed without a token changed")
	}
}

func TestWhatTheListsHaveReplacesTheFile(t *testing.T) {
	old := catalog.New()
	listed := lists{types: slices.Clone(old.Types), regions: slices.Clone(old.Regions)}
	g8 := slices.IndexFunc(listed.types, func(p api.LinodeType) bool { return p.ID == "g8-dedicated-8-4" })
	listed.types[g8].Price.Hourly, listed.types[g8].NetworkOut = 0.13, 6000
	listed.types = slices.DeleteFunc(listed.types, func(p api.LinodeType) bool { return p.ID == "g6-nanode-1" })
	listed.types = append([]api.LinodeType{{ID: "g9-standard-2", Class: "standard"}}, listed.types...)
	listed.regions = append(listed.regions, api.Region{ID: "xx-new", Resolvers: api.RegionResolvers{IPv4: "203.0.113.7"}})
	listed.availability = []api.RegionAvailability{
		{Plan: "g8-dedicated-8-4", Region: "us-lax", Available: true}, {Plan: "g8-dedicated-8-4", Region: "us-ord", Available: true},
		{Plan: "g8-dedicated-8-4", Region: "us-sea"}, {Plan: "g7-premium-2", Region: "us-ord"}, {Plan: "g1-unlisted", Region: "us-ord"},
	}
	renewed, err := renew(old, listed, "2026-12-24")
	if err != nil {
		t.Fatal(err)
	}
	if got := renewed.Offered; len(got) != 2 || !slices.Equal(got["g8-dedicated-8-4"], []string{"us-ord", "us-lax"}) ||
		len(got["g7-premium-2"]) != 0 {
		t.Errorf("offered %v", got)
	}
	if last := renewed.Types[len(renewed.Types)-1].ID; last != "g9-standard-2" {
		t.Errorf("the last plan is %s, a new one belongs there", last)
	}
	if slices.Contains(renewed.NotInLKE, "g6-nanode-1") {
		t.Error("a plan that is gone is still named as one that LKE does not take")
	}
	if r, _ := renewed.Region("xx-new"); r.Resolvers != old.Regions[0].Resolvers {
		t.Errorf("resolvers %v", r.Resolvers)
	}
	text := strings.Join(changes(old, renewed), "\n")
	for _, want := range []string{"plan g9-standard-2: new", "plan g6-nanode-1: not listed any more", "region xx-new: new",
		"plan g8-dedicated-8-4: NetworkOut 6000, was 0", "plan g8-dedicated-8-4: Price {0.13 0}, was {0 0}",
		"plan g8-dedicated-8-4: offered in 2 regions [us-ord us-lax], was 0 regions []",
		"plan g1-gpu-rtx6000-1: offered in all regions, was 3 regions"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestAListThatDidNotArriveWholeIsRefused(t *testing.T) {
	old := catalog.New()
	for name, listed := range map[string]lists{
		"few plans":  {types: old.Types[:50], regions: old.Regions},
		"no regions": {types: old.Types},
	} {
		if _, err := renew(old, listed, "2026-12-24"); err == nil || !strings.Contains(err.Error(), "list is incomplete") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"an error":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(answer)
		if _, err := read(t.Context(), http.DefaultClient, server.URL); err == nil {
			t.Errorf("%s is taken for a list", name)
		}
		server.Close()
	}
}

func TestTheProgramWritesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "facts.json")
	if err := run(t.Context(), []string{"-api", listing(t), "-file", file, "-date", "2026-12-24"}); err != nil {
		t.Fatal(err)
	}
	var written catalog.Catalog
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	if err != nil || written.Date != "2026-12-24" || len(written.Types) != len(catalog.New().Types) {
		t.Errorf("%v, %d plans of %s", err, len(written.Types), written.Date)
	}
	err = run(t.Context(), []string{"-date", "soon"})
	if err == nil || !strings.Contains(err.Error(), "-date=soon: it must be a date such as") {
		t.Errorf("a date that is none: %v", err)
	}
}
