// Package moduleproxy publishes the repository's libraries to a module proxy that
// is a directory, so that a test can use them as an importer does: by `go get`,
// in an empty project elsewhere, without go.work and without replace lines.
//
// It publishes the working tree under the version that the modules require of each
// other. For package release it publishes a module at its tag. Everything else comes
// from the module cache first, so a machine that has built the repository needs no
// network.
//
// We tried goproxytest of github.com/rogpeppe/go-internal instead. It packs the zips
// of modules itself: they lack the repository's LICENSE and names that begin with a
// dot, and contain files of nested modules. Package zip of golang.org/x/mod packs a tag
// as the go command does, and the release check tests these zips. A directory needs no
// server.
//
// Errors name the module and the step. The proxy stays until its directory is removed.
package moduleproxy
