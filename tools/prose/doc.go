// Package prose tests how files are written: formatting and length of lines of Go, grammar of comments, exact words. `make check` runs it
// first: it needs the standard library alone, so that a line that is too long is known before anything else is compiled.
package prose
