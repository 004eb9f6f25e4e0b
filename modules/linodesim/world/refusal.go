package world

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Reason is one entry of an error answer. Field is empty when the reason is
// not about one field; else a path such as tags[0].
type Reason struct {
	Field, Reason string
}

// Refusal is what the API answers instead of doing something.
type Refusal struct {
	Status  int
	Reasons []Reason
}

func (r *Refusal) Error() string {
	parts := make([]string, len(r.Reasons))
	for i, e := range r.Reasons {
		parts[i] = e.Reason
		if e.Field != "" {
			parts[i] = "[" + e.Field + "] " + e.Reason
		}
	}
	return fmt.Sprintf("refused with %d: %s", r.Status, strings.Join(parts, "; "))
}

// AsRefusal gives the refusal inside an error, or nil.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

func refuse(field, format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Reasons: []Reason{{field, fmt.Sprintf(format, args...)}}}
}

func notFound() *Refusal {
	return &Refusal{Status: http.StatusNotFound, Reasons: []Reason{{"", "Not found"}}}
}

// reasons collects what is wrong with a request.
type reasons []Reason

func (r *reasons) add(field, format string, args ...any) {
	*r = append(*r, Reason{field, fmt.Sprintf(format, args...)})
}

func (r reasons) sort() {
	slices.SortFunc(r, func(a, b Reason) int { return strings.Compare(a.Field, b.Field) })
}

func (r reasons) err() error {
	if len(r) == 0 {
		return nil
	}
	return &Refusal{Status: http.StatusBadRequest, Reasons: r}
}
