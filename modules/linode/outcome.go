package linode

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// outcome classifies one attempt. The outcome and the method determine retries and the kinds of errors.
type outcome string

const (
	outcomeSuccess     outcome = "success"      // 2xx with JSON, or 204
	outcomeRefused     outcome = "refused"      // 4xx of the API itself
	outcomeRotated     outcome = "rotated"      // 401, and the token source has a newer token by now
	outcomeRateLimited outcome = "rate limited" // 429
	outcomeNoRoom      outcome = "no room"      // not sent: the rate limit leaves no room before the context's deadline
	outcomeBusy        outcome = "busy"         // 400 "Linode busy.": another job runs on the Linode
	outcomeMaintenance outcome = "maintenance"  // 503 with X-Maintenance-Mode: planned, and not over soon
	outcomeTimeout     outcome = "timeout"      // 408
	outcomeServerError outcome = "server error" // 5xx of the API itself
	outcomeProxy       outcome = "proxy"        // an error status without the API's error body: a proxy in front of the API answered
	outcomeGarbled     outcome = "garbled"      // 2xx with something that is not JSON
	outcomeUnsent      outcome = "unsent"       // no connection: the API has not seen the request
	outcomeUntrusted   outcome = "untrusted"    // the server's certificate was refused: nothing was sent, and will not be
	outcomeLost        outcome = "lost"         // sent, or perhaps sent, without an answer
	outcomeNotTried    outcome = "not tried"    // the token source failed: an error on this side
	outcomeExpired     outcome = "expired"      // the time of SendBefore had passed
	outcomeCanceled    outcome = "canceled"     // the context ended before the request was sent
	outcomeAbandoned   outcome = "abandoned"    // the context ended while the request was on its way
)

// attempt is one try of a request and all that is known of it afterwards. The body is in memory, at most maxBody long.
type attempt struct {
	outcome outcome
	status  int
	header  http.Header
	body    []byte
	reasons []Reason
	err     error         // why no answer came, or an excerpt of a body that is not the API's
	wait    time.Duration // pause required by the server; 0 for none
	limiter time.Duration // time spent waiting for the rate limit

	clean func([]byte) []byte // takes the token out of a text
}

// These constants bound the texts of an answer that go into an error. Errors reach conditions of Kubernetes objects,
// whose size and characters are limited.
const (
	maxReasons = 10
	maxReason  = 300
	maxField   = 100
	maxType    = 80
	maxExcerpt = 160
)

// classify reads an answer.
func classify(status int, header http.Header, body []byte) attempt {
	a := attempt{status: status, header: header, body: body}
	var envelope api.ErrorList
	isEnvelope := json.Unmarshal(body, &envelope) == nil && len(envelope.Errors) > 0
	for _, e := range envelope.Errors[:min(len(envelope.Errors), maxReasons)] {
		reason := Reason{Reason: plain(e.Reason, maxReason)}
		if e.Field != nil {
			reason.Field = plain(*e.Field, maxField)
		}
		a.reasons = append(a.reasons, reason)
	}
	switch {
	case status >= 200 && status < 300:
		a.outcome = outcomeSuccess
		if status != http.StatusNoContent && !json.Valid(body) {
			a.outcome, a.err = outcomeGarbled, excerpt(header, body)
		}
	case status == http.StatusTooManyRequests:
		a.outcome = outcomeRateLimited
	case status == http.StatusServiceUnavailable && header.Get("X-Maintenance-Mode") != "":
		a.outcome = outcomeMaintenance
	case status == http.StatusRequestTimeout:
		a.outcome = outcomeTimeout
	case !isEnvelope:
		a.outcome, a.err = outcomeProxy, excerpt(header, body)
	case status >= 500:
		a.outcome = outcomeServerError
	case status == http.StatusBadRequest && a.reasons[0].Reason == "Linode busy.":
		a.outcome = outcomeBusy
	default:
		a.outcome = outcomeRefused
	}
	return a
}

// excerpt describes an answer that is not the API's: its type and first words, on one line.
func excerpt(header http.Header, body []byte) error {
	text := plain(string(body[:min(len(body), 4*maxExcerpt)]), maxExcerpt)
	kind := cmp.Or(plain(header.Get("Content-Type"), maxType), "no type")
	if text == "" {
		return errors.New("the response does not come from the Linode API: " + kind + ", empty")
	}
	return errors.New("the response does not come from the Linode API: " + kind + ", " + strconv.Quote(text))
}

// plain returns a text on one line, of printable characters, cut to limit bytes.
func plain(text string, limit int) string {
	cut := text[:min(len(text), 4*limit)] // the rest is ignored, however long it is
	line := strings.Join(strings.Fields(strings.Map(printable, cut)), " ")
	if len(line) > limit || len(cut) < len(text) {
		line = strings.ToValidUTF8(line[:min(len(line), limit)], "") + "..."
	}
	return line
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}

// failed is an attempt without an answer. ctx is the caller's context, without the timeout of one attempt; connected is
// false only when it is certain that there was no connection.
func failed(ctx context.Context, err error, connected bool) attempt {
	a := attempt{err: err, outcome: outcomeLost}
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		a.outcome = outcomeUntrusted
	case errors.As(err, &dial) && dial.Op == "dial", !connected:
		a.outcome = outcomeUnsent
		if ctx.Err() != nil {
			a.outcome = outcomeCanceled
		}
	case ctx.Err() != nil:
		a.outcome = outcomeAbandoned
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		a.err = errors.Join(ctx.Err(), err)
	}
	return a
}

// serverWait returns the pause required by the server, 0 for none. It is Retry-After in seconds. After a 429 without
// Retry-After it is the time until X-RateLimit-Reset; other answers carry that header, too, and require no pause.
func serverWait(status int, header http.Header, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header.Get("Retry-After"))); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 24*3600)) * time.Second
	}
	if status == http.StatusTooManyRequests {
		return untilReset(header, now)
	}
	return 0
}

// untilReset returns the time until X-RateLimit-Reset by the server's own clock (the header Date), so that a wrong local
// clock does no harm. It returns 0 when the header is missing, or when its time is past or more than an hour away.
func untilReset(header http.Header, now time.Time) time.Duration {
	seconds, err := strconv.ParseInt(strings.TrimSpace(header.Get("X-RateLimit-Reset")), 10, 64)
	if err != nil || seconds <= 0 {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	wait := time.Unix(seconds, 0).Sub(now)
	if wait < 0 || wait > time.Hour {
		return 0
	}
	return wait
}

// limitFeedback reads what an answer contains about the rate limit.
func limitFeedback(a attempt, now time.Time) feedback {
	f := feedback{remaining: -1}
	if limit, err := strconv.Atoi(a.header.Get("X-RateLimit-Limit")); err == nil {
		f.limit = limit
	}
	if remaining, err := strconv.Atoi(a.header.Get("X-RateLimit-Remaining")); err == nil && remaining >= 0 {
		f.remaining, f.reset = remaining, untilReset(a.header, now)
	}
	if a.outcome == outcomeRateLimited {
		f.limited, f.wait = true, max(a.wait, defaultLimitedWait)
	}
	return f
}
