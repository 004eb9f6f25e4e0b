// Package prose tests how files are written: formatting and length of lines of Go, habits of comments that make a reader look back, and
// exact words. `make check` runs it first: it needs the standard library alone, so that a line that is too long is known before anything
// else is compiled.
package prose
