package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Build builds the images into .bin/images and pushes nothing. A later Publish with Config.Built pushes
// them. So the job that may sign and push builds no image.
func Build(ctx context.Context, c Config) error {
	if err := validVersion(c.Version); err != nil {
		return err
	}
	_, err := c.buildImages(ctx, c.Root, c.imageDir())
	return err
}

// images returns the images. If Config.Built is set, it reads the images that Build has made; otherwise it builds them.
func (c *Config) images(ctx context.Context) ([]image, error) {
	if c.Built {
		return readImages(c.imageDir())
	}
	return c.buildImages(ctx, c.Root, c.imageDir())
}

// Publish pushes images and charts of a tagged version below a registry's folder. It refuses a HEAD
// that is not at tag v<Version>, and a version without a section in CHANGELOG.md; it does not test
// whether the tree is clean. cosign signs without a key, by the identity of the workflow that runs
// Publish. At the end Publish replaces the files of the release's page in .bin/release/files: notes,
// charts, SBOMs, programs, checksums, and the digests of images and charts.
func Publish(ctx context.Context, c Config, prefix string) error {
	if err := validVersion(c.Version); err != nil {
		return err
	}
	at, err := git(ctx, c.Root, "describe", "--tags", "--exact-match", "--match", c.goTag())
	if err != nil || at != c.goTag() {
		return fmt.Errorf("HEAD is not at tag %s: publish from a clone of the tag (%w)", c.goTag(), err)
	}
	notes, err := Notes(c.Root, c.Version)
	if err != nil {
		return err
	}
	built, err := c.images(ctx)
	if err != nil {
		return err
	}
	p, err := c.publish(ctx, prefix, built, signer{program: c.cosign()})
	if err != nil {
		return err
	}
	files := map[string][]byte{"notes.md": []byte(notes),
		"digests.txt": []byte(strings.Join(slices.Concat(p.images, p.chartDigests()), "\n") + "\n")}
	for _, i := range built {
		files[i.repository+".spdx.json"] = i.sbom
	}
	for _, file := range p.files {
		if files[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	// The files that `make programs` has made: archives of karpenter-linode, and its manifest for krew.
	programs, err := filepath.Glob(filepath.Join(c.Root, ".bin/programs/karpenter-linode*"))
	if err != nil {
		return err
	}
	for _, file := range programs {
		if files[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	return writeFiles(filepath.Join(c.out(), "files"), files)
}

// writeFiles writes files into an empty folder, together with their checksums.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var sums []string
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		sums = append(sums, hex.EncodeToString(sum[:])+"  "+name+"\n")
	}
	slices.Sort(sums)
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(strings.Join(sums, "")), 0o644)
}
