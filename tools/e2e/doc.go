// Package e2e holds the end-to-end tests: the operator as it is installed by its
// charts, on the local cluster's real API server, scheduler and controller manager,
// against the simulated LKE over HTTP, once on each tier.
//
// A test reads what a user reads (pods, nodes, NodeClaims, events) and checks it
// against what the simulator recorded: which instances were made, who owns them and
// which of them are left. It waits for conditions, never for a time. `make build` must have
// run; `make test` does that.
package e2e
