// Package release makes a release and tries it as its users would: charts and images in a
// registry, their signatures, an installation from this registry, and the Go modules through a proxy.
//
// It is called by cmd/release (`make charts`, `make release-check`, `make release`, `make publish`).
// Check, Push, Publish and Build run tools/image, which builds the images as OCI layouts in
// .bin/images. They push these layouts and the packaged chart folders, so a check and the release
// push the same bytes.
//
//	          state of the repository                           signature                   writes
//	Check     any                                               a key that is thrown away   only .bin/images and .bin/release
//	Push      any                                               no                          the registry
//	Release   clean tree, section in CHANGELOG.md, no tag yet   no                          commits and tags of origin
//	Publish   HEAD at tag v<Version>, section in CHANGELOG.md   the workflow's identity     the registry, .bin/release/files
//
// A version is x.y.z with x 0 or 1, and may have a suffix, as 0.2.0-rc.1. From version 2 on, Go wants
// module paths that end in /v2.
//
// A check needs no network: go-containerregistry's registry runs in this process, and the tags are
// made in a scratch clone. The first step that fails ends the check.
//
// A release runs the check, tags each module (before that, it commits the versions of sibling modules
// in go.mod), then tags the last commit, and pushes in its last step: `git push --atomic origin HEAD`
// with all tags. After an error the remote has not changed, but the local repository may have new
// commits and tags: remove them before the next try, because a tag that exists is an error.
//
// Publish runs in the workflow of the tag. After an error, the registry may have some of the images
// and charts, some without a signature; Publish can be repeated. Errors have no kinds: their text
// names the step, and the command that failed with its output. Calls for one repository must not
// run at the same time, because they write the same folders.
package release
