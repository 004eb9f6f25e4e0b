package api

import (
	"slices"
	"time"
)

// OperationID names an operation of the description by its operationId.
type OperationID string

// RateClass names a rate limit: requests of one class are counted together.
type RateClass string

// RateLimit is a documented limit: at most Requests in any window of Per, for one token.
type RateLimit struct {
	Requests int
	Per      time.Duration
}

// Operation describes an operation, except its types.
type Operation struct {
	ID     OperationID
	Method string
	// Route is the path template without the version, `/lke/clusters/{clusterId}`: a name with few values, fit for a
	// metric's label.
	Route string
	Class RateClass
	// Paginated operations answer one page of a collection.
	Paginated bool
	// Beta operations exist only below /v4beta.
	Beta bool
	// Public operations need no token.
	Public bool
	// Scopes are the OAuth scopes that a token needs.
	Scopes []string
	// Filterable are the fields that an X-Filter may name, fields of nested objects with a dot.
	Filterable []string
}

// Operations returns all operations of the description, ordered by ID. The slice is the caller's.
func Operations() []Operation { return slices.Clone(operations) }

// OperationByID returns the operation of that ID, and false when the API has no such operation.
func OperationByID(id OperationID) (Operation, bool) {
	for _, operation := range operations {
		if operation.ID == id {
			return operation, true
		}
	}
	return Operation{}, false
}

// DocumentedRateLimit returns the documented limit of a class, and false when no limit is documented.
func DocumentedRateLimit(class RateClass) (RateLimit, bool) {
	limit, ok := rateLimits[class]
	return limit, ok
}
