package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// connectWhenUp connects. While the Linode API does not answer, it waits and tries again; the process is alive and not ready, and /readyz
// has the reason. It returns every other error, because the user has to correct the cause, for example a refused token.
func connectWhenUp(ctx context.Context, logger logr.Logger, p *platform) error {
	err := p.connect(ctx)
	if !outage(err) {
		return err
	}
	var reason atomic.Value
	reason.Store(err.Error())
	stop, failed := serveProbes(ctx, net.JoinHostPort(p.options.ProbeAddress, strconv.Itoa(p.options.Core.HealthProbePort)), &reason)
	if failed != nil {
		return failed
	}
	defer stop()
	pauses := wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.1, Steps: 5, Cap: 30 * time.Second}
	for outage(err) {
		reason.Store(err.Error())
		pause := pauses.Step()
		logger.Error(err, "waiting for the Linode API", "next-attempt", pause.Round(time.Second).String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		err = p.connect(ctx)
	}
	return err
}

// serveProbes answers the probes until stop is called: /healthz with ok, and /readyz with 503 and the reason.
func serveProbes(ctx context.Context, address string, reason *atomic.Value) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &options.Error{Name: "HEALTH_PROBE_PORT", Found: "cannot be listened on", Err: err,
			Fix: "set HEALTH_PROBE_PORT to a free port"}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, fmt.Sprint(reason.Load()), http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends when stop closes the server
	// stop also closes the listener, which a server that has not begun to serve would leave open: the manager is about to listen on this port.
	return func() { _ = errors.Join(server.Close(), listener.Close()) }, nil
}
