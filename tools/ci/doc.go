// Package ci has the tests of tools/make/ci-plan.sh (`make ci-plan`), which decides what the workflow ci.yml runs: which
// modules a change concerns, and for which modules all tests run.
package ci
