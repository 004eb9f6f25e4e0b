// Package kubelet serves the part of a kubelet's API that `kubectl logs` needs, because kwok, which simulates the kubelets,
// reads only files in a container runtime's format.
//
// It is called by package localcluster, which serves one Handler for all nodes. Each Node has the port of this server, and the
// API server finds the server by the Node's InternalDNS address. If a container is a process of this machine, the Handler serves
// its log file, with --tail, --limit-bytes and --follow. For any other container it serves one line: the container is simulated.
// It refuses all other requests with an error: --since, --timestamps, --previous, exec, attach, port-forward.
//
// The caller lets in only clients with a certificate of the cluster's authority.
package kubelet

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/logfile"
)

// Container is one container of a Pod.
type Container struct{ Namespace, Pod, Name string }

// Logs finds the log file of a container; "" = no program runs in it.
type Logs func(ctx context.Context, c Container) (path string, err error)

// Handler answers as a kubelet does.
func Handler(logs Logs) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		selection, err := selected(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c := Container{r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")}
		path, err := logs(r.Context(), c)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case path == "":
			fmt.Fprintf(w, "container %s of %s/%s is simulated: no program runs in it, so it has no log\n", c.Name, c.Namespace, c.Pod)
		default:
			_ = logfile.Copy(r.Context(), flushed{w}, path, selection) // the reader may be gone
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the local cluster's kubelets serve logs and nothing else", http.StatusNotImplemented)
	})
	return mux
}

// selected reads the parameters of a request for logs.
func selected(q url.Values) (logfile.Selection, error) {
	s := logfile.Selection{Lines: -1, Follow: q.Get("follow") == "true"}
	for parameter, flag := range map[string]string{"sinceSeconds": "--since", "sinceTime": "--since-time"} {
		if q.Has(parameter) {
			return s, fmt.Errorf("%s is not served by the local cluster: use --tail", flag)
		}
	}
	for parameter, flag := range map[string]string{"previous": "--previous", "timestamps": "--timestamps"} {
		if q.Get(parameter) == "true" {
			return s, fmt.Errorf("%s is not served by the local cluster: one file holds the log of all starts, with times", flag)
		}
	}
	var err error
	if text := q.Get("tailLines"); text != "" {
		if s.Lines, err = strconv.Atoi(text); err != nil || s.Lines < 0 {
			return s, fmt.Errorf("tailLines is %q; it must be a number from 0", text)
		}
	}
	if text := q.Get("limitBytes"); text != "" {
		if s.Bytes, err = strconv.ParseInt(text, 10, 64); err != nil || s.Bytes < 1 {
			return s, fmt.Errorf("limitBytes is %q; it must be a number from 1", text)
		}
	}
	return s, nil
}

// flushed sends every piece at once, because a reader who follows the log waits for it.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}
