// Package vulncheck tests tools/make/vulncheck.sh, the script behind `make vulncheck`, with databases that the test makes:
// the public database is not reachable from everywhere, and its findings change.
package vulncheck
