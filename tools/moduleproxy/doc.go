// Package moduleproxy publishes the repository's libraries to a module proxy that
// is a directory, so that a test can use them as an importer does: by `go get`,
// in an empty project elsewhere, without go.work and without replace lines.
//
// Published is the working tree as it is, under the version that the modules
// require of each other, or a module at its tag, for package release. Everything else comes from the module cache first, so a
// machine that has built the repository needs no network for it.
package moduleproxy
