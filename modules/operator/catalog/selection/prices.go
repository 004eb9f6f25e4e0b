package selection

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// Prices are hourly prices in USD of plans for which the API lists none. The first price whose pattern matches a plan counts.
type Prices []Price

// A Price is the price of all plans whose ID matches a pattern.
type Price struct {
	Pattern string
	USD     float64
}

// ParsePrices reads a list such as g1-gpu-rtx4000a-1=0.52,g2-gpu-*=1.5.
func ParsePrices(text string) (Prices, error) {
	if text == "" {
		return nil, nil
	}
	var list Prices
	for item := range strings.SplitSeq(text, ",") {
		pattern, amount, _ := strings.Cut(strings.TrimSpace(item), "=")
		usd, err := strconv.ParseFloat(amount, 64)
		if err != nil || !(usd > 0) || math.IsInf(usd, 1) {
			return nil, fmt.Errorf("%q has no price above 0", item)
		}
		if patterns, err := ParsePatterns(pattern); err != nil || len(patterns) != 1 || strings.HasPrefix(pattern, ClassPrefix) {
			return nil, fmt.Errorf("%q is not a plan", pattern)
		}
		list = append(list, Price{pattern, usd})
	}
	return list, nil
}

// Of returns the price of a plan, 0 if the plan has no price.
func (l Prices) Of(plan string) float64 {
	for _, price := range l {
		if matches, err := path.Match(price.Pattern, plan); err == nil && matches {
			return price.USD
		}
	}
	return 0
}
