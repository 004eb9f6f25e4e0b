// Package mutants proves that a module's tests can fail. Its list,
// testdata/mutants.yaml in the module, has one safeguard in each entry and how to
// take it away; each is taken out of a copy of the module, and the module's tests
// have to turn red. What survives shows a test that is missing.
//
// The module itself is not changed: the copy is a temporary directory, which is
// removed. Other modules are read where they are, through the replace directives
// of go.mod.
package mutants
