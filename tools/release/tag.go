package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ready returns an error if a release cannot be made from the repository's state.
func (c *Config) ready(ctx context.Context) error {
	if err := validVersion(c.Version); err != nil {
		return err
	}
	changed, err := git(ctx, c.Root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not clean: commit or remove\n%s", changed)
	}
	existing, err := git(ctx, c.Root, "tag", "--list", c.goTag())
	if err != nil {
		return err
	}
	if existing != "" {
		return fmt.Errorf("tag %s exists: release another version", c.goTag())
	}
	_, err = Notes(c.Root, c.Version)
	return err
}

// Notes are the changelog's entries of a version. A version without entries is an error.
func Notes(root, version string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(version) + `\].*$`)
	at := heading.FindIndex(text)
	if at == nil {
		return "", fmt.Errorf("CHANGELOG.md has no heading \"## [%s]\": move what is under Unreleased there", version)
	}
	notes := string(text[at[1]:])
	if next := regexp.MustCompile(`(?m)^(## |\[[^\]]+\]: )`).FindStringIndex(notes); next != nil {
		notes = notes[:next[0]]
	}
	if strings.TrimSpace(notes) == "" {
		return "", fmt.Errorf("CHANGELOG.md has nothing under \"## [%s]\"", version)
	}
	return strings.TrimSpace(notes) + "\n", nil
}

// semantic allows the major versions 0 and 1 only: from version 2 on, the modules' paths would have to end in /v2.
var semantic = regexp.MustCompile(`^(0|1)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func validVersion(version string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("VERSION is %q, want x.y.z with x 0 or 1, for example 0.1.0", version)
	}
	return nil
}

// Release checks, tags every module and the repository, and pushes commits and tags to the
// remote "origin" at once. It refuses a tree that is not clean, a version whose tag exists, and a
// version without a section in CHANGELOG.md. The tag vX.Y.Z starts the workflow that publishes.
func Release(ctx context.Context, c Config) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	result, err := Check(ctx, c)
	if err != nil {
		return fmt.Errorf("release-check: %w", err)
	}
	fmt.Fprintln(c.Out, result)
	tags, err := tagModules(ctx, c.Root, c.goTag())
	if err != nil {
		return err
	}
	if _, err := git(ctx, c.Root, "tag", "--annotate", "--message", c.goTag(), c.goTag()); err != nil {
		return err
	}
	tags = append(tags, c.goTag())
	c.step("pushing %s", strings.Join(tags, " "))
	_, err = git(ctx, c.Root, append([]string{"push", "--atomic", "origin", "HEAD"}, tags...)...)
	return err
}
