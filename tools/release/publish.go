package release

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// published has the references of a release in a registry.
type published struct {
	prefix  string // registry and folder
	version string
	images  []string          // references with digests
	charts  map[string]string // references with digests, by chart
	files   map[string]string // the charts' archives
}

func (p published) chartDigests() []string {
	return slices.Sorted(maps.Values(p.charts))
}

// source returns the chart's reference and version for `helm install`.
func (p published) source(chart string) (reference, version string) {
	return "oci://" + p.prefix + "/charts/" + chart, p.version
}

// Push builds images, and pushes images and charts below a registry's folder, without signatures.
// It accepts any state of the repository, and writes no files of a release's page. It is for versions
// that are not released, and for a user's own registry.
func Push(ctx context.Context, c Config, prefix string) error {
	if err := validVersion(c.Version); err != nil {
		return err
	}
	built, err := c.buildImages(ctx, c.Root, c.imageDir())
	if err != nil {
		return err
	}
	_, err = c.publish(ctx, prefix, built, signer{})
	return err
}

// publish pushes images, SBOMs and charts below prefix, and signs them.
func (c *Config) publish(ctx context.Context, prefix string, built []image, s signer) (published, error) {
	p := published{prefix: prefix, version: c.Version}
	for _, i := range built {
		c.step("image %s: pushing it with its SBOMs", i.repository)
		reference, err := i.push(ctx, prefix, c.Version, remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return p, fmt.Errorf("push image %s: %w", i.repository, err)
		}
		if err := s.sign(ctx, reference.String()); err != nil {
			return p, err
		}
		if err := s.attest(ctx, reference.String(), i.sbom); err != nil {
			return p, err
		}
		p.images = append(p.images, reference.String())
	}
	c.step("charts: packaging and pushing them")
	var err error
	if p.files, err = PackageCharts(c.Root, filepath.Join(c.out(), "charts"), c.Version,
		Image{prefix + "/" + built[0].repository, built[0].digest.String()}); err != nil {
		return p, err
	}
	if p.charts, err = pushCharts(prefix+"/charts", c.Version, p.files); err != nil {
		return p, err
	}
	for _, reference := range p.chartDigests() {
		if err := s.sign(ctx, reference); err != nil {
			return p, err
		}
	}
	return p, nil
}

// verifyReferrers finds the SPDX document of each image by the registry's referrers API.
func (p published) verifyReferrers(ctx context.Context) error {
	for _, reference := range p.images {
		digest, err := name.NewDigest(reference)
		if err != nil {
			return err
		}
		found, err := remote.Referrers(digest, remote.WithContext(ctx), remote.WithFilter("artifactType", sbomType))
		if err != nil {
			return fmt.Errorf("referrers of %s: %w", reference, err)
		}
		manifest, err := found.IndexManifest()
		if err != nil {
			return err
		}
		if len(manifest.Manifests) != 1 {
			return fmt.Errorf("%s has %d SPDX documents, want 1", reference, len(manifest.Manifests))
		}
	}
	return nil
}
