package linodesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// tokens are the accepted tokens. The simulator never shows a token: its user's name stands for it everywhere.
type tokens map[string]world.Caller

func newTokens(given, roles map[string][]string) (tokens, error) {
	if given == nil {
		given = map[string][]string{DefaultToken: {"*"}}
	}
	out := tokens{}
	for i, token := range slices.Sorted(maps.Keys(given)) {
		if token == "" {
			return nil, errors.New("linodesim: Tokens has an empty token")
		}
		granted, restricted := roles[token]
		out[token] = world.Caller{Actor: Actor{User: fmt.Sprintf("user%d", i+1)}, Scopes: slices.Clone(given[token]),
			Restricted: restricted, Roles: slices.Clone(granted)}
	}
	for token := range roles {
		if _, known := out[token]; !known {
			return nil, errors.New("linodesim: Roles has a token that Tokens lacks")
		}
	}
	return out, nil
}

// find reads an Authorization header. A call without one is anonymous.
func (t tokens) find(header string) (c world.Caller, known bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return world.Caller{}, false
	}
	c, known = t[strings.TrimSpace(token)]
	return c, known
}
