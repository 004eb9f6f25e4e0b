// Package bench measures what claims cost: requests, time and memory of the
// engines of modules/lkepool and modules/instances on modules/linodesim, against
// targets. `make bench`
// runs it and writes docs/performance.md. No other package imports it.
//
// The package itself is pure arithmetic: results, targets, the report. The measurements
// are in its test, TestBench, and not in a program, because everything
// happens in virtual time: bursts that take minutes and an hour at rest pass in
// seconds, every goroutine of client, engine and simulator included. Only
// testing/synctest does that, and it needs a *testing.T. Without -full the test
// measures small sizes and checks no target, so that it costs nothing among the
// other tests:
//
//	cd tools/bench && go test -run '^TestBench$' -count=1 -args -full -write ../../docs/performance.md
//
// It prints a line for each result and one for each target that was missed, and
// fails if a target was missed.
//
// # Exact figures
//
// Requests are the requests that the simulator counted, after the client's retries and
// limits. Nodes are counted in the simulator's audit log. Times are virtual, so
// computing takes none. Each burst is repeated with several seeds and the worst
// of each figure counts, which need not be of one run; goroutines that are ready
// at the same moment run in any order, so figures can differ a little between
// two runs.
//
// floor_ratio is the time from the start of a burst until the last Create has
// returned its provider ID, divided by the time from the same start until the last node
// became visible (linodesim.Floor): on Standard once it has an ID, on Enterprise
// once it carries LKE's tags. In instance mode the second follows from the API's limit
// of 20 creations in 15 seconds, without the risk of a 429. The time until the nodes are requested is in both,
// because no client can read them earlier; the report shows it.
//
// beyond_s is the seconds by which a burst took longer than 1.15 times that floor.
// It has the target, because the client's own requests take the same seconds after
// a floor of 3 s as after one of a minute.
//
// # Simulated parts
//
// Claims go through the operator's own CloudProvider. Karpenter core is not run;
// what it does around the provider is simulated, with the constants of v1.15.0
// (claimant_test.go, operator_test.go). A claimant ends when Create returns: the
// writes to Kubernetes that follow are not in any figure. NodeClaims are in
// controller-runtime's fake client.
package bench
