package claims_test

import (
	"math"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func listPrices(instanceType string) (float64, bool) {
	price, known := map[string]float64{"g6-standard-1": 0.018, "g6-standard-2": 0.036}[instanceType]
	return price, known
}

func TestCeilingsBoundAllNodesTogether(t *testing.T) {
	price := func(most float64) claims.Ceilings {
		return claims.Ceilings{MaxHourlyPrice: most, HourlyPrice: listPrices}
	}
	for what, c := range map[string]struct {
		ceilings     claims.Ceilings
		instanceType string
		wanted       int
		owned        map[string]int
		fit          int
		field        string // of the refusal
	}{
		"no bound":      {claims.Ceilings{}, "g6-standard-1", 7, map[string]int{"g6-standard-1": 100}, 7, ""},
		"room for some": {claims.Ceilings{MaxNodes: 5}, "g6-standard-1", 7, map[string]int{"a": 1, "b": 2}, 2, ""},
		"room for none": {claims.Ceilings{MaxNodes: 3}, "g6-standard-1", 7, map[string]int{"a": 1, "b": 2}, 0,
			claims.FieldMaxNodes},
		"a price that fits exactly":     {price(3 * 0.018), "g6-standard-1", 3, nil, 3, ""},
		"a price for some":              {price(0.1), "g6-standard-1", 7, map[string]int{"g6-standard-2": 1}, 3, ""},
		"a price for none":              {price(0.05), "g6-standard-2", 1, map[string]int{"g6-standard-1": 1}, 0, claims.FieldMaxHourlyPrice},
		"no price of the type":          {price(1), "g7-new", 1, nil, 0, claims.FieldMaxHourlyPrice},
		"no price of a type in use":     {price(1), "g6-standard-1", 1, map[string]int{"g7-new": 1}, 0, claims.FieldMaxHourlyPrice},
		"no price of a type not in use": {price(1), "g6-standard-1", 1, map[string]int{"g7-new": 0}, 1, ""},
		"both, the number is the tighter": {claims.Ceilings{MaxNodes: 1, MaxHourlyPrice: 9, HourlyPrice: listPrices}, "g6-standard-1", 5, nil,
			1, ""},
	} {
		fit, err := c.ceilings.Fit("claim", c.instanceType, c.wanted, c.owned)
		if fit != c.fit || (err == nil) != (c.field == "") {
			t.Errorf("%s: %d, %v; want %d", what, fit, err, c.fit)
		}
		if e, ok := err.(*claims.Error); ok && //nolint:errorlint // Fit returns it itself
			(e.Kind != claims.KindQuotaExceeded || e.Field != c.field || e.Effect != claims.EffectNone) {
			t.Errorf("%s: %+v", what, e)
		}
	}
}

func TestCeilingsThatCannotWorkAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		ceilings claims.Ceilings
		ok       bool
	}{
		"nothing":                {claims.Ceilings{}, true},
		"both":                   {claims.Ceilings{MaxNodes: 3, MaxHourlyPrice: 1, HourlyPrice: listPrices}, true},
		"a negative number":      {claims.Ceilings{MaxNodes: -1}, false},
		"a negative price":       {claims.Ceilings{MaxHourlyPrice: -1, HourlyPrice: listPrices}, false},
		"not a number":           {claims.Ceilings{MaxHourlyPrice: math.NaN(), HourlyPrice: listPrices}, false},
		"an infinite price":      {claims.Ceilings{MaxHourlyPrice: math.Inf(1), HourlyPrice: listPrices}, false},
		"a price without prices": {claims.Ceilings{MaxHourlyPrice: 1}, false},
	} {
		err := c.ceilings.Check("configure")
		if (err == nil) != c.ok || !c.ok && claims.KindOf(err) != claims.KindInvalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}
