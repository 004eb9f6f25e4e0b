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
// Retries. A call tries its request at most five times. The outcome and the method decide about another attempt:
//
//	any method     the request certainly had no effect: 429; the 400 "Linode busy." of a Linode on which
//	               another job runs; no connection; 401 when the token source has a newer token
//	GET, DELETE    the request may have had its effect: 408; 5xx; an answer of a proxy in front of the
//	               API, such as HTML; a lost connection; a timeout
//
// Waits between attempts grow from half a second, or follow Retry-After. A POST that may have had its effect is not
// repeated: its error is KindAmbiguous, and the caller looks up whether the object exists. A PUT that may have had its
// effect is not repeated either: it sets a value, and the attempt without an answer may take effect after later writes.
// Planned maintenance (503 with X-Maintenance-Mode) and refusals are never retried. [SendBefore] sets the time until
// which a request may be sent.
//
// A DELETE succeeds if it finds no object (404) after an earlier attempt that may have removed the object. Example: the
// first attempt loses its connection, and the second attempt is answered 404. A 404 at the first attempt, or after
// attempts that certainly had no effect, is KindNotFound.
//
// A PUT that is repeated after a 429 may overwrite a change that another client made between the attempts: the API has no
// precondition.
//
// Not found. KindNotFound comes from the API's own 404 and from nothing else. IDs below 1 and names that are empty are
// refused with KindInvalid before anything is sent.
//
// Rate limits. Each Client counts requests per class, with the documented limits: collections 200 a minute, Linode
// creation 20 in 15 s, images 20 a minute, everything else 1600 a minute. The server never counts more requests of the
// Client in one window than the limit, whatever the burst and the number of goroutines. Requests of one class are sent in
// the order of their arrival; a class never waits for another class. X-RateLimit headers lower the limits and never raise
// them above the documented limits. After a 429, the class pauses for the time that the server names, at most for one
// window. It then continues at half its limit until a window has passed without a further 429.
//
// Waiting. Methods wait for the rate limit and between attempts, in the caller's goroutine and never longer than its
// context. If a wait would outlast the context's deadline, the call does not wait: it ends at once, with the API's last
// error or with KindRateLimited.
//
// Pages. An entry that exists during the whole iteration is yielded exactly once, also when the collection shrinks
// between two pages. An error is yielded last; Collect returns all entries or none. Two things are not guaranteed. The
// entries need not have existed at the same moment. And an entry may be missing if, between two pages of a collection of
// more than 500, one entry is removed and another is added: the number of entries stays the same, and the client does not
// notice the change.
//
// Secrets. The token is in no error, no Call and no printed form of a Config or Client, and it is not sent to another
// host: redirects are not followed.
//
// Metrics and traces. Config.Observer is called for every call, with the operation, route template, status, duration,
// waits and retries. Config.Transport gets every attempt with the caller's context; OperationFromContext reads the
// operation and the route template from it. OpenTelemetry's otelhttp transport fits there as it is.
//
// Answers are untrusted. The client neither requests nor unpacks compressed answers. A body has at most 4 MiB, a page 500
// entries, a collection 100 pages. An error has at most ten reasons of 300 printable characters. An address without TLS
// must be a loopback address, unless Config.AllowHTTP permits others. A body that is not the API's JSON gives an error
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
//	after a 429            the time that the server names, up to 90 s; else 2 s, growing to 30 s
//	after "Linode busy."   3 s
//	after other failures   0.5 s, growing to 8 s
//	a page                 500 entries; a collection at most 100 pages; a body at most 4 MiB
package linode
