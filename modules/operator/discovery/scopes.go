package discovery

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// Scopes remembers the token's scopes from the header X-OAuth-Scopes, which the Linode API sends with its
// answers. It is an http.RoundTripper around another one.
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

// lacking refuses a token that lacks a scope. A header that is missing proves nothing: then the first request that takes it will tell.
func lacking(header string, needed []string) error {
	scopes := strings.FieldsFunc(header, func(r rune) bool { return r == ' ' || r == ',' })
	if len(scopes) == 0 || slices.Contains(scopes, "*") {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(scope string) bool {
		section, _, _ := strings.Cut(scope, ":")
		return slices.Contains(scopes, scope) || slices.Contains(scopes, section+":*") || slices.Contains(scopes, section+":read_write")
	})
	if len(missing) == 0 {
		return nil
	}
	return &options.Error{Name: "LINODE_TOKEN",
		Found: "the token lacks the scopes " + strings.Join(missing, " and ") + " (it has " + strings.Join(scopes, ", ") + ")",
		Fix:   "make a personal access token with the scopes " + strings.Join(needed, ", ") + " and set LINODE_TOKEN to it"}
}
