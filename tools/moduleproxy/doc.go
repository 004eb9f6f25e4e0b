// Package moduleproxy publishes the repository's libraries to a module proxy that
// is a directory, so that a test can use them as an importer does: by `go get`,
// in an empty project elsewhere, without go.work and without replace lines.
//
// It publishes the working tree as it is, under the version that the modules
// require of each other, or, for package release, a module at its tag. Everything
// else comes from the module cache first, so a machine that has built the
// repository needs no network for it.
//
// goproxytest of github.com/rogpeppe/go-internal was tried instead. It serves
// the modules, but packs their zips itself: the repository's LICENSE is missing
// in them, files of nested modules are in them, and names that begin with a dot
// are dropped. package zip of golang.org/x/mod packs as the go command packs a
// tag, which is the subject of the release check, and a directory needs no server.
package moduleproxy
