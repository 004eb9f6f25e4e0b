// Package boundaries holds the test that keeps the modules of this repository
// apart: which may import which, and which outside dependencies a module that other
// projects use must never gain. It contains no code of its own; `make test` runs it.
package boundaries
