package linode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody bounds the body of an answer. A page of 500 Linodes is about 1 MB.
const maxBody = 4 << 20

// attemptTransport sends one attempt: waits for the rate limit, adds the token, bounds the time, and reads the body, so
// that an answer that breaks off is a failed attempt and not a failed call.
type attemptTransport struct{ call *call }

// RoundTrip implements http.RoundTripper. The answer's body is in memory.
func (t attemptTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	k := t.call
	k.made++
	k.waiting = false
	k.last = k.try(request)
	k.limiter += k.last.limiter
	if k.last.status == 0 {
		return nil, k.last.err
	}
	return k.last.answered(request, k.made), nil
}

func (k *call) try(request *http.Request) attempt {
	ctx := request.Context()
	limiter := k.client.limiters[k.operation.Class]
	waited, err := limiter.acquire(ctx)
	var full noRoom
	if errors.As(err, &full) {
		return attempt{outcome: outcomeNoRoom, err: err, wait: full.wait, limiter: waited}
	}
	if err != nil {
		return attempt{outcome: outcomeCanceled, err: err, limiter: waited}
	}
	token, err := k.client.token(ctx)
	if err != nil {
		limiter.cancel()
		if ctx.Err() != nil {
			return attempt{outcome: outcomeCanceled, err: err, limiter: waited}
		}
		return attempt{outcome: outcomeNotTried, err: err, limiter: waited}
	}
	if before, ok := ctx.Value(sendBeforeKey{}).(time.Time); ok && !k.effect && time.Now().After(before) {
		limiter.cancel()
		return attempt{outcome: outcomeExpired, err: errExpired, limiter: waited}
	}
	a := k.exchange(request, token)
	now := time.Now()
	a.wait, a.limiter = serverWait(a.status, a.header, now), waited
	limiter.release(limitFeedback(a, now))
	if a.status == http.StatusUnauthorized {
		if newer, err := k.client.token(ctx); err == nil && newer != token {
			a.outcome = outcomeRotated
		}
	}
	a.redact(token)
	return a
}

// exchange sends the request once and reads the answer.
func (k *call) exchange(request *http.Request, token string) attempt {
	outer := request.Context()
	ctx, cancel := context.WithTimeout(outer, k.client.timeout)
	defer cancel()
	// A transport that called GetConn and never GotConn had no connection and has sent nothing.
	var wanted, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	request = request.Clone(ctx)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", k.client.userAgent)
	// Without this header net/http requests gzip and unpacks it: 2 KB can become 2 GB before maxBody is seen.
	request.Header.Set("Accept-Encoding", "identity")

	response, err := k.client.transport.RoundTrip(request)
	if err != nil {
		return failed(outer, err, got.Load() || !wanted.Load())
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return failed(outer, fmt.Errorf("the connection ended before the whole response was read: %w", err), true)
	}
	if len(body) > maxBody {
		a := attempt{status: response.StatusCode, header: response.Header, outcome: outcomeGarbled}
		a.err = fmt.Errorf("the answer is longer than %d bytes", maxBody)
		return a
	}
	// The token is hidden before classify cuts an excerpt out of the answer: hide could not find a token that was cut
	// in two.
	a := classify(response.StatusCode, redacted(response.Header.Clone(), token), hide(body, token))
	a.header, a.body, a.clean = response.Header, body, func(b []byte) []byte { return hide(b, token) }
	return a
}

const hidden = "(redacted)"

func hide(text []byte, token string) []byte {
	return bytes.ReplaceAll(text, []byte(token), []byte(hidden))
}

func redacted(header http.Header, token string) http.Header {
	for _, values := range header {
		for i := range values {
			values[i] = strings.ReplaceAll(values[i], token, hidden)
		}
	}
	return header
}

// redact removes the token from the transport's error. It also removes the token from the reasons: hide does not find a
// token that the answer writes with JSON escapes.
func (a *attempt) redact(token string) {
	for i := range a.reasons {
		a.reasons[i].Reason = strings.ReplaceAll(a.reasons[i].Reason, token, hidden)
		a.reasons[i].Field = strings.ReplaceAll(a.reasons[i].Field, token, hidden)
	}
	if a.err != nil && strings.Contains(a.err.Error(), token) {
		a.err = errors.New(strings.ReplaceAll(a.err.Error(), token, hidden))
	}
}
