package plans_test

import (
	"bytes"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/plans"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func TestOpenCostHasTheRegionsOwnPrices(t *testing.T) {
	listed := []catalog.Plan{
		{ID: "g6-standard-2", Price: api.Price{Hourly: 0.036}, RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.0432}}},
		{ID: "g6-dedicated-2", Price: api.Price{Hourly: 0.054}},
		{ID: "g9-unpriced"},
	}
	var out bytes.Buffer
	if err := plans.OpenCost(&out, listed, []string{"us-ord", "id-cgk"}); err != nil {
		t.Fatal(err)
	}
	const field = "metadata.labels.node.kubernetes.io/instance-type"
	want := "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n" +
		",g6-standard-2,us-ord,node," + field + ",g6-standard-2,0.036,v1\n" +
		",g6-dedicated-2,us-ord,node," + field + ",g6-dedicated-2,0.054,v1\n" +
		",g6-standard-2,id-cgk,node," + field + ",g6-standard-2,0.0432,v1\n" +
		",g6-dedicated-2,id-cgk,node," + field + ",g6-dedicated-2,0.054,v1\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if err := plans.OpenCost(&out, listed[2:], []string{"us-ord"}); err == nil {
		t.Error("a list without prices is written")
	}
}
