package linode

import (
	"errors"
	"iter"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// positive refuses IDs below 1: the API would answer 404, and a forgotten ID would pass for the proof that an object
// does not exist. Arguments are pairs of name and ID.
func positive(id api.OperationID, pairs ...any) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if value, _ := pairs[i+1].(int); value < 1 {
			name, _ := pairs[i].(string)
			operation, _ := api.OperationByID(id)
			return invalid(operation, name, errors.New("an ID is a positive number"))
		}
	}
	return nil
}

// segment refuses what would change the path of a request: an empty part, and "." and "..", which lead to the
// collection or the object above.
func segment(id api.OperationID, name, value string) error {
	if value == "" || value == "." || value == ".." {
		operation, _ := api.OperationByID(id)
		return invalid(operation, name, errors.New("it must be neither empty nor a path of dots"))
	}
	return nil
}

// failing is an iteration that yields one error.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}
