// Package image builds the container images of this repository with ko, as OCI layouts
// in a folder, for linux/amd64 and linux/arm64. It needs no container runtime. The default base is an
// empty image, and then it needs no network. Another base must be an image index that is named
// with its digest.
//
// It is called by cmd/image (`make image`). It is a module of its own, because ko's
// dependencies are many and differ in version from the dependencies of the rest of tools/.
//
// A layout holds one image index for all platforms, annotated with the version. It also holds
// an SPDX document for the index and an SPDX document for each image. Such a document is an OCI
// artifact, whose subject is the described index or image. So a push of all manifests of the
// layout publishes the SBOMs, too.
//
// Guarantees: images are static Go binaries run as uid 65532, with the labels of the OCI
// image specification. The same commit, version, base and Go toolchain give the same digest,
// on every machine: creation times are the commit's, paths are trimmed. If files are modified,
// the commit ends in -dirty.
//
// A base that is not named with its digest, or has no image for a platform, is an error.
// Build replaces a program's layout only once the images for all platforms are built.
package image
