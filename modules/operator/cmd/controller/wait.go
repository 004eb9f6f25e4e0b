package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// connectWhenUp connects, and waits while the Linode API does not answer: meanwhile the process is alive and not ready, with the reason.
// Every other error, a refused token for example, is the user's to correct and is returned.
func connectWhenUp(ctx context.Context, logger logr.Logger, o options.Options, p *platform) error {
	err := p.connect(ctx, o)
	if err == nil || !outage(err) {
		return err
	}
	probe, stop, err2 := serveProbes(ctx, net.JoinHostPort(o.ProbeAddress, strconv.Itoa(o.Core.HealthProbePort)))
	if err2 != nil {
		return err2
	}
	defer stop()
	pauses := wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.1, Steps: 5, Cap: 30 * time.Second}
	for outage(err) {
		probe.Store(&err)
		pause := pauses.Step()
		logger.Error(err, "waiting for the Linode API", "next-attempt", pause.Round(time.Second).String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		err = p.connect(ctx, o)
	}
	return err
}

// serveProbes answers the probes until stop is called: alive, and not ready because of the last error.
func serveProbes(ctx context.Context, address string) (last *atomic.Pointer[error], stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, &setting.Error{Name: "HEALTH_PROBE_PORT", Found: "cannot be listened on", Err: err, Fix: "set HEALTH_PROBE_PORT to a free port"}
	}
	last = &atomic.Pointer[error]{}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		reason := "waiting for the Linode API"
		if err := last.Load(); err != nil {
			reason = (*err).Error()
		}
		http.Error(w, reason, http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until it is closed
	}()
	return last, func() {
		_ = server.Close()
		<-ended // the manager is about to listen on the same port
	}, nil
}
