// Package e2e holds the end-to-end tests: the operator as its charts install it, on the
// local cluster's real API server, scheduler and controller manager, against the simulated
// Linode API over HTTP: LKE on each tier, plain Linodes, and Machines of Cluster API.
//
// A test reads the objects that a user reads (pods, nodes, NodeClaims, events), and compares
// them with the simulator's records: which instances were made, who owns them and which of
// them are left. It waits for conditions, never for a time. `make build` must have run;
// `make test` does that.
package e2e
