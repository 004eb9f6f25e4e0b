// Package boundaries holds the tests that keep the modules of this repository apart: they
// check which module may import which, and which outside dependencies a module for other
// projects must never have. They also bound the size of types, and refuse folders
// that import each other in a circle. It contains no code of its own; `make test` runs it.
package boundaries
