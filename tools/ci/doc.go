// Package ci decides what the workflow ci.yml runs: which modules a change concerns, and which
// end-to-end suites there are. It is called by cmd/ciplan (`make ci-plan`).
//
// A module is concerned when one of its files changed, or one of a module that it requires. The
// modules are those of go.work; what else lies in the repository (the Makefile, openapi/, charts/,
// the workflows) concerns all of them.
package ci
