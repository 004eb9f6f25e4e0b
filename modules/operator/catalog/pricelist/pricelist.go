// Package pricelist has Linode's plans, their prices and their availability as data, for programs that run without a token and
// without a network.
//
// The data, plans.json, comes from the simulator's catalogue: a test of this package compares the two, and `go test ./pricelist -update`
// writes the file. Its date is the date of the prices. List serves it as a catalog.API, so a Catalog reads it as it reads the Linode
// API. Everything is read-only and safe for concurrent use.
//
// The list lacks changes of plans and prices after that date. Prices are USD without taxes and discounts.
//
// The caller is the program karpenter-linode, for plans and whatif without a token. BuiltIn returns an error only if plans.json is
// damaged.
package pricelist

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// List is a list of plans with the regions that have plans of restricted availability.
type List struct {
	Date    string              `json:"date"` // of the prices
	Types   []api.LinodeType    `json:"types"`
	Offered map[string][]string `json:"offered"` // restricted plan -> regions that have it
	Regions []string            `json:"regions"` // with Kubernetes
}

//go:embed plans.json
var builtIn []byte

// BuiltIn returns the list that is part of the program.
func BuiltIn() (*List, error) { return Parse(builtIn) }

// Parse reads a list in the format of plans.json.
func Parse(data []byte) (*List, error) {
	list := &List{}
	if err := json.Unmarshal(data, list); err != nil {
		return nil, fmt.Errorf("reading the price list: %w", err)
	}
	if len(list.Types) == 0 {
		return nil, fmt.Errorf("reading the price list: it has no plans")
	}
	return list, nil
}

// ListTypes yields all plans. The filter is not applied: callers list without one.
func (l *List) ListTypes(context.Context, linode.Filter) iter.Seq2[api.LinodeType, error] {
	return func(yield func(api.LinodeType, error) bool) {
		for _, t := range l.Types {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// RegionAvailability returns a row for each plan of restricted availability.
func (l *List) RegionAvailability(_ context.Context, region string) (rows []api.RegionAvailability, _ error) {
	for _, t := range l.Types {
		if regions, restricted := l.Offered[t.ID]; restricted {
			rows = append(rows, api.RegionAvailability{Region: region, Plan: t.ID, Available: slices.Contains(regions, region)})
		}
	}
	return rows, nil
}
