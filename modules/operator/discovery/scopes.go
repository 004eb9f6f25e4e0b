package discovery

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// Scopes remembers the token's scopes from the header X-OAuth-Scopes, which the Linode API sends with its
// answers. It is an http.RoundTripper around another one.
type Scopes struct {
	Next http.RoundTripper
	last atomic.Pointer[string]
}

// RoundTrip implements http.RoundTripper.
func (s *Scopes) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.Next.RoundTrip(request)
	if err == nil {
		if scopes := response.Header.Get("X-OAuth-Scopes"); scopes != "" {
			s.last.Store(&scopes)
		}
	}
	return response, err
}

// Last returns the scopes as the API wrote them, empty if it has sent none.
func (s *Scopes) Last() string {
	if last := s.last.Load(); last != nil {
		return *last
	}
	return ""
}

// checkScopes refuses a token that can read but not write. A header that is missing proves nothing: then the
// first write will tell.
func checkScopes(header string) error {
	scopes := strings.FieldsFunc(header, func(r rune) bool { return r == ' ' || r == ',' })
	if len(scopes) == 0 || slices.Contains(scopes, "*") {
		return nil
	}
	var missing []string
	for _, needed := range []string{"lke:read_write", "linodes:read_write"} {
		section, _, _ := strings.Cut(needed, ":")
		if !slices.Contains(scopes, needed) && !slices.Contains(scopes, section+":*") {
			missing = append(missing, needed)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &setting.Error{Name: "LINODE_TOKEN", Found: "the token lacks the scopes " + strings.Join(missing, " and ") + " (it has " + strings.Join(scopes, ", ") + ")",
		Fix: newToken}
}
