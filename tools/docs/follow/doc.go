// Package follow carries out a page: it runs the commands of a page's code blocks, one after the
// other in one shell, and compares the output with what the page shows.
//
// It is called by the tests of package docs. A block of the language sh has commands, which have to succeed; one of the
// language console has commands after `$ ` and, below each, the output. What differs from run to run (names, numbers
// of processes and ports, times) is compared by its shape, see Shape; a line `...` stands for any lines. A command that
// only reads is repeated until it prints what the page shows, as a reader would who waits for it. A command with --watch
// is ended after a few seconds. `<name>` is the name of one of Karpenter's nodes.
package follow
