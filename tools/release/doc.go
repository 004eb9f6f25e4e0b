// Package release makes a release and tries it as its users would: charts and images in a
// registry, their signatures, an installation from this registry, and the Go modules through a proxy.
//
// It is called by cmd/release (`make charts`, `make release-check`, `make release`, `make publish`).
// The images come from tools/image as OCI layouts. All pushed images and charts are made from these
// layouts and from the chart folders, so a check and the release push the same bytes.
//
// A check needs no network and leaves only .bin/release behind: go-containerregistry's registry runs
// in this process, the key is thrown away, and the tags are made in a scratch clone. The first step
// that fails ends the check.
//
// A release starts only from a clean tree, with a version whose major number is 0 or 1, a section
// of that version in CHANGELOG.md, and no tag of that version. It runs the check, tags the modules
// and then the commit, and pushes the branch and all tags in one atomic push.
//
// Check returns the verified properties up to the step that failed. Release changes the remote only
// in its last step, the atomic push: after an earlier error nothing was published. Publish runs in
// the workflow of the tag, and refuses a tree that is not at the tag.
package release
