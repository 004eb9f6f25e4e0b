package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestOpenCostPricesHasHelpOfItsOwn(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		var out bytes.Buffer
		err := writePrices(t.Context(), []string{flag}, &out)
		if err != nil || !strings.HasPrefix(out.String(), "controller opencost-prices prints") ||
			!strings.Contains(out.String(), "CLUSTER_REGION") {
			t.Errorf("%s: %v, %s", flag, err, &out)
		}
	}
}

func TestOpenCostPricesAreWrittenWithTheControllersSettings(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	defer server.Close()
	t.Setenv("LINODE_TOKEN", linodesim.DefaultToken)
	t.Setenv("LINODE_URL", server.URL)
	t.Setenv("CLUSTER_NAME", "any")

	var all bytes.Buffer
	if err := writePrices(t.Context(), nil, &all); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{",g6-standard-2,us-ord,node,", ",g6-standard-2,id-cgk,node,"} {
		if strings.Count(all.String(), row) != 1 {
			t.Errorf("%d rows with %q in\n%.600s", strings.Count(all.String(), row), row, all.String())
		}
	}
	var one bytes.Buffer
	if err := writePrices(t.Context(), []string{"--cluster-region=us-ord"}, &one); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(one.String(), "id-cgk") || !strings.Contains(one.String(), ",us-ord,") {
		t.Errorf("prices of one region:\n%.600s", one.String())
	}
}
