// Package mutants proves that a module's tests can fail. Each entry of the list
// testdata/mutants.yaml in the module has one safeguard, and the change that takes
// it away. With each change the module's tests must fail. A mutant that survives
// shows that a test is missing.
//
// The module itself does not change: the mutated file is in a temporary directory,
// and an overlay of the compiler puts it in the place of the module's file. A test
// that reads the module's source sees no mutation.
package mutants
