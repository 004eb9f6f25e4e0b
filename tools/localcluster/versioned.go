package localcluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// startVersioned starts a proxy between the operator and the API server. The proxy answers /version itself, and passes on all other
// requests.
func (c *Cluster) startVersioned(context.Context) error {
	target, err := url.Parse(c.plane.Server())
	if err != nil {
		return err
	}
	config, err := c.plane.ServerTLS("kube-apiserver")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { reportVersion(w, c.opts.ServerVersion()) })
	mux.Handle("/", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.plane.Roots()},
			ForceAttemptHTTP2: true},
		FlushInterval: -1, // a watch is one long answer
		ErrorLog:      slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	})
	port, err := c.serve(mux, config)
	c.server = "https://" + address(port)
	return err
}

// reportVersion answers as the API server of a version does.
func reportVersion(w http.ResponseWriter, text string) {
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	info := apiversion.Info{
		GitVersion: text, Major: strconv.FormatUint(uint64(parsed.Major()), 10), Minor: strconv.FormatUint(uint64(parsed.Minor()), 10),
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(info) // the caller may be gone
}
