// Package linode is a client of the Linode API for programs that must not lose or duplicate anything: controllers.
//
// It is a thin layer over generated types (package api): one Client, one method per operation, one *Error type with a
// closed set of kinds, iterators over collections, and a Filter that cannot lose a condition.
//
//	client, err := linode.New(linode.Config{Token: linode.FileToken("/var/run/secrets/linode/token")})
//	...
//	for pool, err := range client.ListPools(ctx, clusterID, linode.Filter{}) {
//		...
//	}
//
// # Guarantees
//
// Retries. A request is tried at most five times. It is tried again when it is certain that it had no effect: 429, the
// 400 "Linode busy." of a Linode on which another job runs, no connection, and 401 when the token source has a newer
// token. GET and DELETE are also tried again when that is not certain: 408, 5xx, an answer of something in front of
// the API (a proxy's HTML), a lost connection or a timeout. Waits grow from half a second, or follow Retry-After. A POST is never repeated
// after such an outcome: its error is KindAmbiguous, and the caller looks up whether the effect is there. Nor is a PUT: it sets a value,
// and the attempt without an answer may take effect later, after other writes. Planned maintenance (503
// with X-Maintenance-Mode) and refusals are never retried. [SendBefore] bounds when a request may still be sent.
//
// A DELETE that was tried again because an earlier attempt may have been carried out, and then finds nothing (404), has
// succeeded. A 404 at the first attempt, or after attempts that certainly had no effect, is KindNotFound.
//
// A PUT that is tried again, after a 429, may overwrite what another client wrote between the attempts: the API has no precondition.
//
// Not found. KindNotFound comes from the API's own 404 and from nothing else. IDs below 1 and names that are empty are
// refused with KindInvalid before anything is sent.
//
// Rate limits. Per Client and per class (collections 200 a minute, Linode creation 20 in 15 s, images 20 a minute, all
// else 1600 a minute: the documented limits) no window, as the server counts it, holds more requests than the limit,
// whatever the burst and the number of goroutines. Requests of one class pass in the order of their arrival; classes do
// not hold each other up. X-RateLimit headers lower the limits, and never raise them above the documented ones; after
// a 429 the class is silent for the time the server names and continues at half its limit until a window has passed
// without another one.
//
// Waiting. Methods wait for the rate limit and between attempts, in the caller's goroutine and never longer than its
// context. A wait that would outlast the context's deadline is not begun: the call ends at once, with the API's last
// error or with KindRateLimited.
//
// Pages. An entry that exists during the whole iteration is yielded exactly once, also when the collection shrinks
// between two pages. Not guaranteed: that all entries were there at one moment, and the rare case of an entry removed
// and another added between two pages of a collection of more than 500. An error is yielded last; Collect returns all
// entries or none.
//
// Secrets. The token is in no error, no Call and no printed form of a Config or Client, and it is not sent to another
// host: redirects are not followed.
//
// Metrics and traces. Config.Observer hears of every call: operation, route template, status, duration, waits, retries.
// Config.Transport gets every attempt, with the context of the caller, from which OperationFromContext reads the
// operation and the route template; OpenTelemetry's otelhttp transport fits there as it is.
//
// Answers are untrusted. Compressed ones are not requested and not unpacked; a body has at most 4 MiB, a page 500
// entries, a collection 100 pages. An error has at most ten reasons of 300 printable characters. Without TLS only a
// loopback address is talked to, unless Config.AllowHTTP permits more. A body that is not the API's JSON gives an error
// with the status and a short excerpt.
//
// # Units
//
// The units are the API's: see package api. Durations are time.Duration; times are UTC to the second.
//
// # Concurrency
//
// A Client is safe for concurrent use by any number of goroutines. Use one per token and process.
//
// # Imports
//
// This package depends on nothing of Kubernetes and logs nothing: it returns errors and calls Config.Observer.
//
// # Figures
//
//	one attempt            30 s (Config.Timeout)
//	attempts               five
//	after a 429            the server's time, up to 90 s; without one 2 s, then up to 30 s
//	after "Linode busy."   3 s
//	after other failures   0.5 s, then up to 8 s
//	a page                 500 entries; a collection at most 100 pages; a body at most 4 MiB
package linode
