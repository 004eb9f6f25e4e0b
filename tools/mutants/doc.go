// Package mutants proves that a module's tests can fail. Each entry of the list
// testdata/mutants.yaml in the module has one safeguard, and the change that takes
// it away. With each change the module's tests must fail. A mutant that survives
// shows that a test is missing.
//
// The module itself does not change: the mutated file is in a temporary directory,
// and an overlay of the compiler puts it in the place of the module's file. A test
// that reads the module's source sees no mutation.
//
// Load refuses a list that does not fit the source: each text to replace must be in its
// file, and a name must not stand twice. A mutant that does not compile is an error,
// because it shows nothing. Program cmd/mutants (`make mutants`) calls the package.
package mutants
