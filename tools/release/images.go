package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const sbomType = "application/spdx+json"

// images are the images of a release, each with the name of its layout's folder and its name in the registry.
var images = []struct{ layout, repository string }{
	{"controller", "karpenter-linode"},
	{"linodesim", "linodesim"},
}

// image is one image of a release.
type image struct {
	repository string // in the registry, without registry and version
	dir        string // of the layout
	digest     v1.Hash
	sbom       []byte // SPDX document of the index
}

// buildImages builds all images of the repository in root into out. This takes minutes the first time, so it prints a line every 30 s.
func (c *Config) buildImages(ctx context.Context, root, out string) (built []image, err error) {
	c.step("images: building them in %s (minutes the first time)", root)
	err = c.during("images: still building them", 30*time.Second, func() error {
		built, err = buildImages(ctx, root, out, c.Version, c.Base)
		return err
	})
	return built, err
}

func buildImages(ctx context.Context, root, out, version, base string) ([]image, error) {
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/image", "-version", version, "-base", base, "-out", out)
	cmd.Dir, cmd.Env = filepath.Join(root, "tools", "image"), append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build the images: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return readImages(out)
}

// readImages reads all images of a folder.
func readImages(dir string) ([]image, error) {
	var built []image
	for _, i := range images {
		read, err := readImage(filepath.Join(dir, i.layout))
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", i.layout, err)
		}
		read.repository = i.repository
		built = append(built, read)
	}
	return built, nil
}

// readImage reads a layout of tools/image: one index, and SPDX documents with a subject.
func readImage(dir string) (image, error) {
	read := image{dir: dir}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return image{}, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return image{}, err
	}
	for _, m := range manifest.Manifests {
		if m.MediaType == types.OCIImageIndex {
			read.digest = m.Digest
		}
	}
	for _, m := range manifest.Manifests {
		if m.ArtifactType != sbomType {
			continue
		}
		document, subject, err := readDocument(index, m.Digest)
		if err != nil {
			return image{}, err
		}
		if subject == read.digest {
			read.sbom = document
		}
	}
	if read.digest == (v1.Hash{}) || len(read.sbom) == 0 {
		return image{}, errors.New("the layout lacks an index or its SBOM")
	}
	return read, nil
}

func readDocument(index v1.ImageIndex, digest v1.Hash) (document []byte, subject v1.Hash, err error) {
	artifact, err := index.Image(digest)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	manifest, err := artifact.Manifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 || manifest.Subject == nil {
		return nil, v1.Hash{}, fmt.Errorf("%s is not an SBOM with one document and a subject (%w)", digest, err)
	}
	reader, err := layers[0].Compressed()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	defer reader.Close()
	document, err = io.ReadAll(reader)
	return document, manifest.Subject.Digest, err
}

// push pushes all manifests of the layout, the SBOMs as referrers, and tags the index. It
// returns the reference with the digest.
func (i image) push(ctx context.Context, prefix, version string, options ...remote.Option) (name.Digest, error) {
	repository, err := name.NewRepository(prefix + "/" + i.repository)
	if err != nil {
		return name.Digest{}, err
	}
	options = append(options, remote.WithContext(ctx))
	index, err := layout.ImageIndexFromPath(i.dir)
	if err != nil {
		return name.Digest{}, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return name.Digest{}, err
	}
	top, err := index.ImageIndex(i.digest)
	if err != nil {
		return name.Digest{}, err
	}
	if err := remote.WriteIndex(repository.Tag(version), top, options...); err != nil {
		return name.Digest{}, err
	}
	for _, m := range manifest.Manifests {
		if m.ArtifactType != sbomType {
			continue
		}
		artifact, err := index.Image(m.Digest)
		if err != nil {
			return name.Digest{}, err
		}
		if err := remote.Write(repository.Digest(m.Digest.String()), artifact, options...); err != nil {
			return name.Digest{}, err
		}
	}
	return repository.Digest(i.digest.String()), nil
}
