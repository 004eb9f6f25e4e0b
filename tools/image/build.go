package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/ko/pkg/build"
	specs "github.com/opencontainers/image-spec/specs-go/v1"
)

// user is the user nonroot of distroless images; the chart's securityContext has the same user.
const user = "65532:65532"

const sourceURL = "https://github.com/karpenter-linode/karpenter-linode"

var platforms = []string{"linux/amd64", "linux/arm64"}

// Options of a build.
type Options struct {
	Root    string // of the repository
	Out     string // folder; each layout is in a folder of the image's name below it
	Version string // x.y.z, without v
	Base    string // Scratch, or an image index in a registry with its digest
	Source  Source
}

// Build builds one image and writes its layout, which replaces the previous layout. It
// returns the digest of the image index.
func Build(ctx context.Context, p Program, o Options) (v1.Hash, error) {
	digest, err := o.build(ctx, p)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image %s: %w", p.Name, err)
	}
	return digest, nil
}

func (o Options) build(ctx context.Context, p Program) (v1.Hash, error) {
	bases, err := base(o.Base)
	if err != nil {
		return v1.Hash{}, err
	}
	work, err := os.MkdirTemp("", "image-sbom-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	options := []build.Option{
		build.WithBaseImages(bases), build.WithPlatforms(platforms...), build.WithUser(user),
		build.WithTrimpath(true), build.WithDefaultEnv([]string{"CGO_ENABLED=0", "GOWORK=off"}),
		build.WithDefaultFlags([]string{"-mod=readonly", "-buildvcs=false"}), build.WithDefaultLdflags(p.ldflags(o)),
		build.WithCreationTime(v1.Time{Time: o.Source.Time}), build.WithKoDataCreationTime(v1.Time{Time: o.Source.Time}),
		build.WithSPDX("ko"), build.WithSBOMDir(work),
	}
	for key, value := range p.labels(o) {
		options = append(options, build.WithLabel(key, value), build.WithAnnotation(key, value))
	}
	builder, err := build.NewGo(ctx, filepath.Join(o.Root, p.Module), options...)
	if err != nil {
		return v1.Hash{}, err
	}
	result, err := builder.Build(ctx, build.StrictScheme+p.Package)
	if err != nil {
		return v1.Hash{}, err
	}
	index, ok := result.(signedIndex)
	if !ok {
		return v1.Hash{}, errors.New("the base is not an index with an image for each platform")
	}
	return writeLayout(filepath.Join(o.Out, p.Name), index, o.Version)
}

// ldflags leave out the symbol tables and the build ID, and set the version and the commit. The
// commit is set here because go build's own stamp also depends on the tags of the clone, and is
// absent in a git worktree.
func (p Program) ldflags(o Options) []string {
	return []string{"-s", "-w", "-buildid=", "-X " + p.VersionVar + "=" + o.Version, "-X main.commit=" + o.Source.Commit}
}

// labels of the OCI image specification. The same keys annotate the manifests.
func (p Program) labels(o Options) map[string]string {
	return map[string]string{
		specs.AnnotationTitle:       "karpenter-linode " + p.Name,
		specs.AnnotationDescription: p.Description,
		specs.AnnotationVersion:     o.Version,
		specs.AnnotationRevision:    o.Source.Commit,
		specs.AnnotationCreated:     o.Source.Time.Format("2006-01-02T15:04:05Z"),
		specs.AnnotationSource:      sourceURL,
		specs.AnnotationURL:         sourceURL,
		specs.AnnotationLicenses:    "Apache-2.0",
		specs.AnnotationVendor:      "karpenter-linode",
	}
}
