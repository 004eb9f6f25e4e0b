package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
)

// Scratch names the empty base.
const Scratch = "scratch"

// base returns ko's source of base images: the empty image, or an image index in a
// registry, which must be named with its digest.
func base(reference string) (build.GetBase, error) {
	if reference == Scratch {
		ref, err := name.ParseReference(Scratch)
		if err != nil {
			return nil, err
		}
		index, err := emptyIndex()
		if err != nil {
			return nil, err
		}
		return func(context.Context, string) (name.Reference, build.Result, error) { return ref, index, nil }, nil
	}
	ref, err := name.NewDigest(reference)
	if err != nil {
		return nil, fmt.Errorf("base %q: use %q or an image with its digest (name@sha256:...): %w", reference, Scratch, err)
	}
	return func(ctx context.Context, _ string) (name.Reference, build.Result, error) {
		index, err := remote.Index(ref, remote.WithContext(ctx))
		return ref, index, err
	}, nil
}

// emptyIndex has an image without files for every platform.
func emptyIndex() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		os, architecture, _ := strings.Cut(platform, "/")
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
			OS: os, Architecture: architecture, RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}},
		})
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: architecture}},
		})
	}
	return index, nil
}
