// Package release makes a release and tries it as its users would: charts and images in a
// registry, their signatures, an installation from there, and the Go modules through a proxy.
//
// It is called by cmd/release (`make charts`, `make release-check`, `make release`). The images
// come from tools/image as OCI layouts; everything that is pushed is taken from these layouts and
// from the chart folders, so a check and the release push the same bytes.
//
// A check needs no network and leaves nothing behind but .bin/release: the registry is
// go-containerregistry's in this process, the key is thrown away, and the tags are made in a
// scratch clone. It is strict: the first step that fails ends it.
package release
