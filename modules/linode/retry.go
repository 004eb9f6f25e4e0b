package linode

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	// tries bounds the attempts of one call.
	tries = 5
	// defaultLimitedWait is the wait after a 429 that names no time. It doubles with each attempt, up to maxLimitedWait.
	defaultLimitedWait = 2 * time.Second
	maxLimitedWait     = 30 * time.Second
	// maxServerWait is the longest pause required by the server that a call waits for. A longer pause ends the call, and
	// the caller finds it in Error.RetryAfter.
	maxServerWait = 90 * time.Second
	// busyWait is the pause between attempts while another job runs on a Linode; such jobs take some seconds.
	busyWait = 3 * time.Second
	// firstBackoff and maxBackoff bound the growing waits after failures.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 8 * time.Second
)

var (
	anyMethod = []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPost}
	// repeatable methods can be sent again although an earlier attempt may have had its effect: a GET has no effect, and a
	// DELETE finds its object gone. A POST would create a second object. A PUT sets a value, and an attempt without an
	// answer may take effect after later writes, so the caller has to know the outcome of each attempt.
	repeatable = []string{http.MethodGet, http.MethodDelete}
)

// policy lists, for each outcome, the methods with which the request is tried again. An outcome without a row is final:
// success, a refusal, planned maintenance, a certificate that is not trusted, errors on this side, the end of the context.
//
// Outcomes with anyMethod prove that the request had no effect.
var policy = map[outcome][]string{
	outcomeRateLimited: anyMethod,
	outcomeBusy:        anyMethod,
	outcomeUnsent:      anyMethod,
	outcomeRotated:     anyMethod,
	outcomeTimeout:     repeatable,
	outcomeServerError: repeatable,
	outcomeProxy:       repeatable,
	outcomeGarbled:     repeatable,
	outcomeLost:        repeatable,
}

// retrying returns a client of the library that counts attempts, rewinds bodies and waits. The policy decides about
// another attempt; waits grow from attempt to attempt or follow Retry-After.
func (k *call) retrying() *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport: attemptTransport{k},
			// The API redirects nowhere. Following a redirect would carry the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax: tries - 1, RetryWaitMin: firstBackoff, RetryWaitMax: maxBackoff,
		CheckRetry: k.again,
		Backoff: func(time.Duration, time.Duration, int, *http.Response) time.Duration {
			k.waiting = true
			return k.nextWait
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// again is the library's CheckRetry. It gives up at once when the wait would outlast the context, so that the caller gets
// the API's last error instead of a timeout. A random part of the wait keeps processes that share a token from sending at
// the same moment.
func (k *call) again(ctx context.Context, response *http.Response, _ error) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !slices.Contains(policy[k.last.outcome], k.operation.Method) {
		return false, nil
	}
	k.nextWait = spread(retryablehttp.DefaultBackoff(firstBackoff, maxBackoff, k.made-1, response))
	deadline, bounded := ctx.Deadline()
	if k.nextWait > maxServerWait*6/5 || bounded && time.Until(deadline) <= k.nextWait {
		return false, nil
	}
	k.effect = k.effect || k.last.mayHaveEffect()
	return true, nil
}

// answered returns the answer in the form that the library reads: an answer with a wait becomes a 429 with Retry-After,
// because the library's back-off follows that header.
func (a attempt) answered(request *http.Request, made int) *http.Response {
	status, wait, header := a.status, a.wait, http.Header{}
	switch {
	case a.outcome == outcomeBusy:
		wait = busyWait
	case a.outcome == outcomeRateLimited && wait == 0:
		wait = min(defaultLimitedWait<<(made-1), maxLimitedWait)
	}
	if wait > 0 || a.outcome == outcomeRotated {
		status = http.StatusTooManyRequests
		header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: http.NoBody,
		Request: request}
}

// mayHaveEffect reports whether the API may have carried out the request of this attempt.
func (a attempt) mayHaveEffect() bool {
	switch a.outcome {
	case outcomeTimeout, outcomeServerError, outcomeProxy, outcomeGarbled, outcomeLost, outcomeAbandoned:
		return true
	}
	return false
}

// kind names the error that a call ends with after this attempt.
func (a attempt) kind(method string) Kind {
	if method == http.MethodPost && a.mayHaveEffect() {
		return KindAmbiguous
	}
	switch a.outcome {
	case outcomeSuccess:
		return ""
	case outcomeRateLimited, outcomeNoRoom:
		return KindRateLimited
	case outcomeBusy:
		return KindBusy
	case outcomeMaintenance, outcomeTimeout, outcomeServerError, outcomeProxy, outcomeUnsent, outcomeUntrusted, outcomeLost:
		return KindUnavailable
	case outcomeGarbled:
		return KindMalformed
	case outcomeCanceled, outcomeAbandoned:
		return KindCanceled
	case outcomeNotTried:
		return KindUnauthorized
	case outcomeExpired:
		return KindNotSent
	}
	return refusal(a.status)
}

func refusal(status int) Kind {
	switch status {
	case http.StatusUnauthorized:
		return KindUnauthorized
	case http.StatusForbidden:
		return KindForbidden
	case http.StatusNotFound:
		return KindNotFound
	}
	if status >= 400 && status < 500 {
		return KindInvalid
	}
	return KindUnknown
}
