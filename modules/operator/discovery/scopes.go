package discovery

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Scopes remembers the token's scopes from the header X-OAuth-Scopes, which the Linode API sends with its answers. It is an
// http.RoundTripper that passes requests to Next.
type Scopes struct {
	Next http.RoundTripper
	last atomic.Value // the header's text
}

// RoundTrip implements http.RoundTripper.
func (s *Scopes) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.Next.RoundTrip(request)
	if err == nil {
		if scopes := response.Header.Get("X-OAuth-Scopes"); scopes != "" {
			s.last.Store(scopes)
		}
	}
	return response, err
}

// Last returns the scopes as the API wrote them, empty if it has sent none.
func (s *Scopes) Last() string {
	last, _ := s.last.Load().(string)
	return last
}

// lacking returns an error if the token lacks a scope. A missing header proves nothing: the API then refuses the first request that needs
// the missing scope.
func lacking(header string, needed []string) error {
	granted := scopesOf(header)
	if len(granted) == 0 {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(scope string) bool { return granting(granted, scope) })
	if len(missing) == 0 {
		return nil
	}
	return &options.Error{Name: "LINODE_TOKEN",
		Found: "the token lacks the scopes " + strings.Join(missing, " and ") + " (it has " + strings.Join(granted, ", ") + ")",
		Fix:   "make a personal access token with the scopes " + strings.Join(needed, ", ") + " and set LINODE_TOKEN to it"}
}

// has returns whether the API has reported that the token has a scope.
func (w Wanted) has(scope string) bool {
	return w.Scopes != nil && granting(scopesOf(w.Scopes()), scope)
}

func scopesOf(header string) []string {
	return strings.FieldsFunc(header, func(r rune) bool { return r == ' ' || r == ',' })
}

// granting returns whether the scopes of a token include a scope.
func granting(scopes []string, scope string) bool {
	section, _, _ := strings.Cut(scope, ":")
	return slices.Contains(scopes, "*") || slices.Contains(scopes, scope) || slices.Contains(scopes, section+":*") ||
		slices.Contains(scopes, section+":read_write")
}
