package linodesim

import (
	"mime"
	"net"
	"net/http"
)

// guard lets a request through in two cases: it names this machine by a loopback name,
// or it has a token with every scope that is not the default token. A web page in a
// browser cannot write here: cross-site requests, and bodies other than JSON, are
// refused. The page cannot read here through its own DNS name that resolves to this
// machine either: that name is not a loopback name.
func (t tokens) guard(policy string, next http.Handler) http.Handler {
	crossSite := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		switch {
		case !local(r.Host) && !t.owns(r):
			http.Error(w, "use a loopback host name, or a non-default token with every scope", http.StatusForbidden)
		case crossSite.Check(r) != nil:
			http.Error(w, "cross-site requests are refused", http.StatusForbidden)
		case r.ContentLength != 0 && !isJSON(r.Header.Get("Content-Type")):
			http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return Loopback(host)
}

// Loopback reports whether a host, without a port, is an address of this machine that
// no other machine reaches.
func Loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

func (t tokens) owns(r *http.Request) bool {
	c, known := t.find(r.Header.Get("Authorization"))
	_, isDefault := tokens{DefaultToken: c}.find(r.Header.Get("Authorization"))
	return known && !isDefault && c.May("*")
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}
