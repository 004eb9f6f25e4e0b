// Package vulncheck tests tools/make/vulncheck.sh, the script behind `make vulncheck`, with vulnerability databases made for it:
// the public one is not reachable from everywhere, and what it would find changes.
package vulncheck
