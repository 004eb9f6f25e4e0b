// Package boundaries holds the tests that keep the modules of this repository
// apart: which may import which, and which outside dependencies a module that other
// projects use must never gain. It also bounds the size of types, and refuses folders
// that import each other in a circle. It contains no code of its own; `make test` runs it.
package boundaries
