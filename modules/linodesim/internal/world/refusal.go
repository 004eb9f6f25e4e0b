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
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// Refusal is the API's answer to a request that it does not carry out.
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

// Refuse returns a refusal with status 400 about one field, or about no field.
func Refuse(field, format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Reasons: []Reason{{field, fmt.Sprintf(format, args...)}}}
}

// NotFound is the refusal of a request for an object that does not exist.
func NotFound() *Refusal { return answered(http.StatusNotFound, "Not found") }

func answered(status int, reason string) *Refusal {
	return &Refusal{Status: status, Reasons: []Reason{{"", reason}}}
}

// busy is the API's answer while another job runs on a Linode.
func busy() *Refusal { return Refuse("", "Linode busy.") }

// prefixed puts a refusal's fields below a list element.
func prefixed(err error, list string, index int) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	out := &Refusal{Status: r.Status}
	for _, e := range r.Reasons {
		out.Reasons = append(out.Reasons, Reason{fmt.Sprintf("%s[%d].%s", list, index, e.Field), e.Reason})
	}
	return out
}

// reasons collects the errors of a request.
type reasons []Reason

func (r *reasons) add(field, format string, args ...any) {
	*r = append(*r, Reason{field, fmt.Sprintf(format, args...)})
}

// invalid adds the API's reason for a value that it does not know, such as an unknown region.
func (r *reasons) invalid(field string) { r.add(field, "%s is not valid", field) }

// enterpriseOnly adds the API's reason for a field that Standard clusters do not have.
func (r *reasons) enterpriseOnly(field string) {
	r.add(field, "%s is only available for LKE Enterprise clusters", field)
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
