package linode

import (
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// defaultLimitedWait follows a 429 that names no time.
	defaultLimitedWait = 2 * time.Second
	// maxServerWait is the longest wait asked for by the server that a call sits out; longer ones end the call with
	// KindRateLimited and RetryAfter, so that the caller decides.
	maxServerWait = 90 * time.Second
	// busyWait lies between attempts while another job runs on a Linode; such jobs take some seconds.
	busyWait = 3 * time.Second
	// firstBackoff and maxBackoff bound the growing waits after failures.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 8 * time.Second
)

// rule says what follows an outcome: up to attempts tries in all for these methods, and the wait before the next.
type rule struct {
	outcome  outcome
	methods  []string
	attempts int
	wait     func(a attempt, made int) time.Duration
}

var (
	anyMethod = []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPost}
	// repeatable methods may have had their effect and can be sent again all the same: a PUT sets the same values, a
	// DELETE finds its object gone. A POST would create twice.
	repeatable = []string{http.MethodGet, http.MethodPut, http.MethodDelete}
)

// rules is the whole policy. An outcome or a method without a row is not retried: success, a refusal, planned
// maintenance, a certificate that is not trusted, errors on this side, the end of the context.
//
// With any method are retried only outcomes that prove that the request had no effect.
var rules = []rule{
	{outcomeRateLimited, anyMethod, 6, waitServer},
	{outcomeBusy, anyMethod, 6, waitBusy},
	{outcomeUnsent, anyMethod, 5, waitBackoff},
	{outcomeRotated, anyMethod, 2, waitNot},
	{outcomeTimeout, repeatable, 5, waitBackoff},
	{outcomeServerError, repeatable, 5, waitBackoff},
	{outcomeProxy, repeatable, 5, waitBackoff},
	{outcomeGarbled, repeatable, 3, waitBackoff},
	{outcomeLost, repeatable, 4, waitBackoff},
}

// nextTry decides whether to try again after made attempts, and after which wait.
func nextTry(method string, a attempt, made int) (wait time.Duration, again bool) {
	for _, r := range rules {
		if r.outcome != a.outcome {
			continue
		}
		for _, m := range r.methods {
			if m == method {
				wait = r.wait(a, made)
				return wait, made < r.attempts && wait <= maxServerWait*6/5
			}
		}
	}
	return 0, false
}

func waitNot(attempt, int) time.Duration { return 0 }

// waitServer is what the server asked for and a random part, so that processes that share a token do not return
// together; without such a wish 2 s, 4 s, 8 s and so on.
func waitServer(a attempt, made int) time.Duration {
	if a.wait > 0 {
		return spread(a.wait)
	}
	return spread(min(defaultLimitedWait<<(made-1), 30*time.Second))
}

func waitBusy(attempt, int) time.Duration { return spread(busyWait) }

// waitBackoff is 0.5 s, doubled each time up to 8 s, and any part of the upper half of it. A server that asks for more
// gets more.
func waitBackoff(a attempt, made int) time.Duration {
	wait := min(firstBackoff<<(made-1), maxBackoff)
	wait = wait/2 + rand.N(wait/2+1)
	return max(wait, spread(a.wait))
}

// mayHaveEffect tells whether after this attempt the request may have been carried out.
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
