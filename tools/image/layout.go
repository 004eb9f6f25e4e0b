package image

import (
	"errors"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/cosign/v3/pkg/oci"
)

// SBOMType is the artifact type of the SPDX documents.
const SBOMType types.MediaType = "application/spdx+json"

// signedIndex is ko's result for a base with several platforms.
type signedIndex = oci.SignedImageIndex

// described is an image or an index for which ko has made an SPDX document.
type described interface {
	partial.Describable
	Attachment(name string) (oci.File, error)
}

// writeLayout writes the index under the version's name, and the SPDX documents.
func writeLayout(dir string, index signedIndex, version string) (v1.Hash, error) {
	if err := os.RemoveAll(dir); err != nil {
		return v1.Hash{}, err
	}
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{specs.AnnotationRefName: version})); err != nil {
		return v1.Hash{}, err
	}
	all, err := withImages(index)
	if err != nil {
		return v1.Hash{}, err
	}
	for _, subject := range all {
		artifact, err := sbomArtifact(subject)
		if err != nil {
			return v1.Hash{}, err
		}
		if err := at.AppendImage(artifact); err != nil {
			return v1.Hash{}, err
		}
	}
	return index.Digest()
}

func withImages(index signedIndex) ([]described, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	all := []described{index}
	for _, descriptor := range manifest.Manifests {
		image, err := index.SignedImage(descriptor.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, image)
	}
	return all, nil
}

// sbomArtifact is the SPDX document of subject in the form that the OCI distribution
// specification calls a referrer.
func sbomArtifact(subject described) (v1.Image, error) {
	descriptor, err := partial.Descriptor(subject)
	if err != nil {
		return nil, err
	}
	file, err := subject.Attachment("sbom")
	if err != nil {
		return nil, fmt.Errorf("SBOM of %s: %w", descriptor.Digest, err)
	}
	document, err := file.Payload()
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), SBOMType),
		mutate.Addendum{Layer: static.NewLayer(document, SBOMType), MediaType: SBOMType},
	)
	if err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(image, map[string]string{specs.AnnotationTitle: "sbom.spdx.json"}).(v1.Image)
	if !ok {
		return nil, errors.New("annotating the SBOM did not give an image")
	}
	artifact, ok := mutate.Subject(annotated, *descriptor).(v1.Image)
	if !ok {
		return nil, errors.New("setting the SBOM's subject did not give an image")
	}
	return artifact, nil
}
