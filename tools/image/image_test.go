package image_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/karpenter-linode/karpenter-linode/tools/image"
)

// One program is built twice, in two folders, which takes a while and covers what all images have in common. make
// release-check does it with all of them.
func TestImages(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what compiles for two platforms")
	}
	options := image.Options{Root: repository(t), Version: "1.2.3", Base: image.Scratch}
	var err error
	if options.Source, err = image.ReadSource(t.Context(), options.Root); err != nil {
		t.Fatal(err)
	}
	linodesim := image.Programs[1]
	first, out := build(t, options, linodesim)
	elsewhere := options
	elsewhere.Root = t.TempDir()
	if err := os.CopyFS(filepath.Join(elsewhere.Root, "modules"), os.DirFS(filepath.Join(options.Root, "modules"))); err != nil {
		t.Fatal(err)
	}
	if second, _ := build(t, elsewhere, linodesim); first != second {
		t.Errorf("builds in two folders have digests %s and %s", first, second)
	}
	index := top(t, out, first)
	for _, platform := range index.Manifests {
		t.Run(platform.Platform.String(), func(t *testing.T) {
			inspect(t, imageOf(t, out, first, platform.Digest), platform.Platform.Architecture, options)
		})
	}
	if len(index.Manifests) != 2 {
		t.Errorf("images for %d platforms, want 2", len(index.Manifests))
	}
	described := documents(t, out)
	for _, digest := range append([]v1.Hash{first}, index.Manifests[0].Digest, index.Manifests[1].Digest) {
		if !strings.HasPrefix(described[digest], "SPDX-") {
			t.Errorf("%s has no SPDX document", digest)
		}
	}
}

// inspect compares what the image has with what it must have.
func inspect(t *testing.T, img v1.Image, architecture string, o image.Options) {
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != architecture || config.OS != "linux" {
		t.Errorf("user %q, platform %s/%s", config.Config.User, config.OS, config.Architecture)
	}
	labels := config.Config.Labels
	for key, want := range map[string]string{
		"org.opencontainers.image.version": o.Version, "org.opencontainers.image.revision": o.Source.Commit,
		"org.opencontainers.image.licenses": "Apache-2.0",
	} {
		if labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, labels[key], want)
		}
	}
	program := file(t, img, config.Config.Entrypoint[0])
	binary, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %v (%v), want a static one", libraries, err)
	}
	for _, text := range []string{o.Version, o.Source.Commit} {
		if !bytes.Contains(program, []byte(text)) {
			t.Errorf("the program does not contain %s", text)
		}
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	_, err := image.Build(t.Context(), image.Programs[0],
		image.Options{Root: repository(t), Out: t.TempDir(), Base: "example.com/base:latest"})
	if err == nil || !strings.Contains(err.Error(), `base "example.com/base:latest"`) || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a base without digest: %v", err)
	}
}

func build(t *testing.T, o image.Options, p image.Program) (v1.Hash, string) {
	t.Helper()
	o.Out = t.TempDir()
	digest, err := image.Build(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return digest, filepath.Join(o.Out, p.Name)
}

func root(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func top(t *testing.T, dir string, digest v1.Hash) *v1.IndexManifest {
	t.Helper()
	index, err := root(t, dir).ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func imageOf(t *testing.T, dir string, index, digest v1.Hash) v1.Image {
	t.Helper()
	outer, err := root(t, dir).ImageIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	img, err := outer.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// documents are the versions of the SPDX documents, by what they describe.
func documents(t *testing.T, dir string) map[v1.Hash]string {
	t.Helper()
	manifest, err := root(t, dir).IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[v1.Hash]string{}
	for _, descriptor := range manifest.Manifests {
		if descriptor.ArtifactType != string(image.SBOMType) {
			continue
		}
		artifact, err := root(t, dir).Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := artifact.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		var document struct{ SPDXVersion string }
		if err := json.Unmarshal(content(t, artifact), &document); err != nil {
			t.Fatal(err)
		}
		found[m.Subject.Digest] = document.SPDXVersion
	}
	return found
}

func content(t *testing.T, artifact v1.Image) []byte {
	t.Helper()
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	reader, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func file(t *testing.T, img v1.Image, path string) []byte {
	t.Helper()
	files := mutate.Extract(img)
	defer files.Close()
	for reader := tar.NewReader(files); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the image has no %s", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if "/"+strings.TrimPrefix(header.Name, "/") == path {
			text, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
