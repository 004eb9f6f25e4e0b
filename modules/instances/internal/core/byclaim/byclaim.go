// Package byclaim finds records by their claimants. An index does not depend on the type
// of its records.
package byclaim

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Record is an entry of an index.
type Record interface {
	comparable
	Claimant() claims.ClaimID
}

// Index contains records by the value of their claimants' IDs.
type Index[R Record] map[string][]R

// Get returns the record of exactly this claimant, and whether there is one.
func (x Index[R]) Get(id claims.ClaimID) (found R, exists bool) {
	for _, r := range x[id.Value] {
		if r.Claimant() == id {
			return r, true
		}
	}
	return found, false
}

// Matching returns the records of a claimant, including records without a UID.
func (x Index[R]) Matching(id claims.ClaimID) []R {
	var all []R
	for _, r := range x[id.Value] {
		if r.Claimant().Is(id) {
			all = append(all, r)
		}
	}
	return all
}

// Add adds a record.
func (x Index[R]) Add(r R) {
	value := r.Claimant().Value
	x[value] = append(x[value], r)
}

// Remove removes a record.
func (x Index[R]) Remove(r R) {
	value := r.Claimant().Value
	left := slices.DeleteFunc(x[value], func(other R) bool { return other == r })
	if x[value] = left; len(left) == 0 {
		delete(x, value)
	}
}

// All returns all records, in no order.
func (x Index[R]) All() []R {
	var all []R
	for _, some := range x {
		all = append(all, some...)
	}
	return all
}
