package rbacaudit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Use is a request for a resource, as the authorizer gets it.
type Use struct {
	Verb, Group, Resource string
	Namespace, Name       string // "" if a request names no namespace or no object
}

// String returns a text that fits after "may", such as "create karpenter.sh/nodeclaims".
func (u Use) String() string {
	return u.Verb + " " + resource(u.Group, u.Resource) + at(u.Namespace, u.Name)
}

func resource(group, name string) string {
	if group == "" {
		return name
	}
	return group + "/" + name
}

func at(namespace, name string) string {
	switch {
	case namespace != "" && name != "":
		return " " + namespace + "/" + name
	case namespace != "":
		return " in " + namespace
	case name != "":
		return " " + name
	}
	return ""
}

// Usage collects the requests of an account. The zero value is empty.
type Usage struct {
	allowed, denied map[Use]int
}

// entry decodes the needed part of an audit.k8s.io/v1 Event.
type entry struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
}

// The authorizer's decision, in the annotations of every entry.
const (
	decision = "authorization.k8s.io/decision"
	forbid   = "forbid"
)

// Read adds the requests that a user made, from an audit log in JSON lines.
func (u *Usage) Read(log io.Reader, user string) error {
	decoder := json.NewDecoder(log)
	for n := 1; ; n++ {
		var e entry
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("audit log: entry %d: %w", n, err)
		}
		if e.User.Username == user && e.ObjectRef != nil {
			u.add(e)
		}
	}
}

func (u *Usage) add(e entry) {
	use := Use{Verb: e.Verb, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace,
		Name: e.ObjectRef.Name}
	if e.ObjectRef.Subresource != "" {
		use.Resource += "/" + e.ObjectRef.Subresource
	}
	if u.allowed == nil {
		u.allowed, u.denied = map[Use]int{}, map[Use]int{}
	}
	if e.Annotations[decision] == forbid {
		u.denied[use]++
	} else {
		u.allowed[use]++
	}
}

// Merge adds another account's or cluster's usage.
func (u *Usage) Merge(other Usage) {
	if u.allowed == nil {
		u.allowed, u.denied = map[Use]int{}, map[Use]int{}
	}
	for use, n := range other.allowed {
		u.allowed[use] += n
	}
	for use, n := range other.denied {
		u.denied[use] += n
	}
}

// Imply adds the use implied if there is an allowed request that by matches: such a request
// needs the right to implied, too. An empty Namespace or Name of by matches every request.
// The other fields of by must be equal to the request's fields, or "*".
func (u *Usage) Imply(by, implied Use) {
	for use := range u.allowed {
		if (Right{Use: by}).covers(use) {
			u.allowed[implied]++
			return
		}
	}
}
