// Package follow carries out a page: it runs the commands of a page's code blocks, one after the
// other in one shell, and compares the output with what the page shows.
//
// It is called by the tests of package docs. A block of the language sh has commands, which have to succeed; one of the language console
// has commands after `$ ` and, below each, the output. Names, times, and numbers of processes and ports differ from run to run and are
// compared by their shape, see Shape; a line `...` stands for any lines. A command that only reads (kubectl get, describe, logs and events,
// curl, make status, grep) is repeated for up to five minutes until it prints the output of the page, as a waiting reader would do. A
// command with --watch is ended after five seconds. `<name>` is the name of one of Karpenter's nodes.
package follow
