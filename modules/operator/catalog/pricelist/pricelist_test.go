package pricelist_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	simcatalog "github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
)

var update = flag.Bool("update", false, "write plans.json from the simulator's catalogue")

func TestTheListIsTheSimulatorsCatalogue(t *testing.T) {
	facts := simcatalog.New()
	list := pricelist.List{Date: facts.Prices, Types: facts.Types, Offered: facts.Offered}
	for _, region := range facts.Regions {
		if simcatalog.Has(region, simcatalog.CapKubernetes) {
			list.Regions = append(list.Regions, region.ID)
		}
	}
	slices.Sort(list.Regions)
	var out bytes.Buffer
	out.WriteString("{\n")
	line := func(name string, value any, end string) {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("  \"" + name + "\": " + string(encoded) + end + "\n")
	}
	line("date", list.Date, ",")
	line("regions", list.Regions, ",")
	line("offered", list.Offered, ",")
	out.WriteString("  \"types\": [\n")
	for i, plan := range list.Types {
		encoded, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("    " + string(encoded))
		if i < len(list.Types)-1 {
			out.WriteString(",")
		}
		out.WriteString("\n")
	}
	out.WriteString("  ]\n}\n")
	if *update {
		if err := os.WriteFile("plans.json", out.Bytes(), 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile("plans.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, out.Bytes()) {
		t.Error("plans.json is not the simulator's catalogue: go test ./pricelist -update")
	}
}

func TestACatalogueReadsTheList(t *testing.T) {
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for region, price := range map[string]float64{"us-ord": 0.036, "id-cgk": 0.043} {
		c := catalog.NewCatalog(list, catalog.Config{Region: region})
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.HourlyUSD("g6-standard-2"); !ok || got != price {
			t.Errorf("%s: g6-standard-2 costs %v, want %v", region, got, price)
		}
	}
}

func TestAListWithoutPlansIsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", `{"types": []}`, "types:"} {
		if _, err := pricelist.Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
