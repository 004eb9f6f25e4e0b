package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const pollInterval = 50 * time.Millisecond

// WaitHealthy polls the child's health endpoint until it answers 200, the child ends or ctx ends. A child that is not
// healthy when ctx ends is not stopped: its log has the reason, and it may still become healthy.
func (p *Process) WaitHealthy(ctx context.Context, client *http.Client, url string) error {
	defer client.CloseIdleConnections()
	var last error
	_ = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) { // its error is the error of ctx
		last = Probe(ctx, client, url)
		return last == nil || !p.Running(), nil
	})
	switch {
	case last == nil:
		return nil
	case !p.Running():
		return p.Failure()
	}
	return fmt.Errorf("%s is not ready (%w): %s: %w; log: %s", p.Name(), context.Cause(ctx), url, last, p.LogFile())
}

// Probe requests a health endpoint, as a kubelet does; nil is an answer with the status 200.
func Probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}
