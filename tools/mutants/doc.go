// Package mutants proves that a module's tests can fail. Its list,
// testdata/mutants.yaml in the module, has one safeguard in each entry and how to
// take it away; each is taken out of what the compiler sees of the module, and the
// module's tests have to turn red. What survives shows a test that is missing.
//
// The module itself is not changed: the mutated file is in a temporary directory,
// and an overlay puts it in the place of the module's. A test that reads the
// module's source sees no mutation.
package mutants
