package linodesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tokens are the accepted ones. A token itself is never shown: its user's name
// stands for it everywhere.
type tokens map[string]caller

type caller struct {
	user   string
	scopes []string
}

func newTokens(given map[string][]string) (tokens, error) {
	if given == nil {
		given = map[string][]string{DefaultToken: {"*"}}
	}
	out := tokens{}
	for i, token := range slices.Sorted(maps.Keys(given)) {
		if token == "" {
			return nil, errors.New("linodesim: Tokens has an empty token")
		}
		out[token] = caller{user: fmt.Sprintf("user%d", i+1), scopes: slices.Clone(given[token])}
	}
	return out, nil
}

// find reads an Authorization header. A call without one is anonymous.
func (t tokens) find(header string) (c caller, known bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, false
	}
	c, known = t[strings.TrimSpace(token)]
	return c, known
}

// may reports whether the caller has every scope asked for; read_write
// includes read_only, and "*" everything.
func (c caller) may(scopes []string) bool {
	for _, want := range scopes {
		if !slices.ContainsFunc(c.scopes, func(have string) bool { return covers(have, want) }) {
			return false
		}
	}
	return true
}

func covers(have, want string) bool {
	if have == "*" || have == want {
		return true
	}
	area, _, _ := strings.Cut(want, ":")
	return have == area+":*" || have == area+":read_write"
}
