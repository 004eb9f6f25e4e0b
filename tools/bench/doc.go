// Package bench measures the cost of claims: the requests, time and memory of the
// engines of modules/lkepool and modules/instances on modules/linodesim. It compares
// the figures with targets. `make bench` runs it and writes docs/performance.md. Only
// package scale, its command and the end-to-end tests import it, for the report.
//
// The package itself is pure arithmetic: results, targets, the report. The measurements
// are in TestBench and not in a program, because the client, the engine and the simulator
// run in virtual time: a burst of minutes and an hour at rest pass in seconds. Only
// testing/synctest offers virtual time, and it needs a *testing.T. Without -full the test
// measures small sizes and checks no target, so that it is as fast as the other tests:
//
//	cd tools/bench && go test -run '^TestBench$' -count=1 -args -full -write ../../docs/performance.md
//
// It prints a line for each result and a line for each missed target, and fails if a
// target was missed.
//
// # Exact figures
//
// The simulator counts the requests, after the client's retries and limits. Nodes are
// counted in the simulator's audit log. Times are virtual, so computing takes no time.
// Each burst is repeated with several seeds, and the worst value of each figure counts.
// Two figures of one result may come from two runs. Goroutines that are ready at the
// same moment run in any order, so figures can differ a little between two runs.
//
// floor_ratio is took_s divided by floor_s. took_s is the time from the start of a burst
// until the last Create has returned its provider ID. floor_s is the time from the same
// start until the last node became visible (linodesim.Floor): on Standard a node is
// visible once it has an ID, on Enterprise once it carries LKE's tags. In instance mode
// floor_s follows from the API's limit of 20 creations in 15 seconds, without the risk of
// a 429. Both times include the time until the nodes are requested, because no client can
// read a node earlier; the report shows this part as asked_s.
//
// beyond_s is the number of seconds by which took_s exceeds 1.15 times floor_s. Example:
// took_s 12 and floor_s 10 give 0.5. The target is on beyond_s, because the client's own
// requests take the same seconds after a floor of 3 s and after a floor of a minute.
//
// # Simulated parts
//
// Claims go through the operator's own CloudProvider. Karpenter core does not run: the
// tests simulate its calls of the provider, with the constants of v1.15.0
// (claimant_test.go, operator_test.go). A claimant ends when Create returns: no figure
// includes the writes to Kubernetes that follow. NodeClaims are in controller-runtime's
// fake client.
package bench
