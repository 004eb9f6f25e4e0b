package release

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

const repository = "../.."

func TestPackagedChartsHaveTheReleasesVersionAndImage(t *testing.T) {
	image := Image{"registry.example.com/me/karpenter-linode", "sha256:" + strings.Repeat("ab", 32)}
	files, err := PackageCharts(repository, t.TempDir(), "1.2.3", image)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		c, err := loader.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != "1.2.3" {
			t.Errorf("%s has version %s, appVersion %s", name, c.Metadata.Version, c.Metadata.AppVersion)
		}
		if c.Metadata.Annotations["artifacthub.io/license"] != "Apache-2.0" {
			t.Errorf("%s lacks Artifact Hub's annotations: %v", name, c.Metadata.Annotations)
		}
		if name != "karpenter" {
			continue
		}
		controller, _ := c.Values["controller"].(map[string]any)
		values, _ := controller["image"].(map[string]any)
		if values["repository"] != image.Repository || values["digest"] != image.Digest {
			t.Errorf("the chart's image is %v, want %v", values, image)
		}
		if listed := c.Metadata.Annotations["artifacthub.io/images"]; !strings.Contains(listed, image.Repository+":1.2.3@"+image.Digest) {
			t.Errorf("Artifact Hub's list of images is %q", listed)
		}
	}
}

func TestAReleaseIsRefused(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		version, changelog, refused string
		dirty, tagged               bool
	}{
		"version":            {"v0.1", "", `VERSION is "v0.1", want x.y.z`, false, false},
		"dirty tree":         {"0.1.0", "## [0.1.0]\n\n- x\n", "not clean", true, false},
		"no changelog entry": {"0.1.0", "## [Unreleased]\n", `no heading "## [0.1.0]"`, false, false},
		"empty entry":        {"0.1.0", "## [0.1.0] - 2026-01-01\n\n## [0.0.9]\n\n- x\n", "nothing under", false, false},
		"tag exists":         {"0.1.0", "## [0.1.0]\n\n- x\n", "tag v0.1.0 exists: release another version", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := emptyRepository(t, c.changelog)
			if c.dirty {
				write(t, filepath.Join(root, "new"), "x")
			}
			if c.tagged {
				must(ctx, t, root, "tag", "v0.1.0")
			}
			err := Release(ctx, Config{Root: root, Version: c.version, Out: t.Output()})
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
}

func TestNotesEndAtTheNextVersion(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "CHANGELOG.md"),
		"# Changelog\n\n## [0.2.0] - 2026-02-02\n\n### Added\n\n- two\n\n## [0.1.0] - 2026-01-01\n\n- one\n\n[0.1.0]: https://example.com\n")
	for version, want := range map[string]string{"0.2.0": "### Added\n\n- two\n", "0.1.0": "- one\n"} {
		if got, err := Notes(root, version); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", version, got, err, want)
		}
	}
	if _, err := Notes(root, "0.1"); err == nil {
		t.Error("notes of 0.1, which is not a version")
	}
}

// The last line of release-check counts the modules, so none may be missing.
func TestEveryModuleIsReleased(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(repository, "modules", "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range found {
		want = append(want, "modules/"+filepath.Base(filepath.Dir(file)))
	}
	if got := slices.Sorted(slices.Values(modules)); !slices.Equal(got, want) {
		t.Errorf("%v are released, there are %v", got, want)
	}
}

// Each module is tagged after the modules that it requires, and its tag requires them at that version.
func TestTagsRequireTheSiblingsTags(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if err := scratchClone(t.Context(), root, clone); err != nil {
		t.Fatal(err)
	}
	tags, err := tagModules(t.Context(), clone, "v0.9.8")
	if err != nil || len(tags) != len(modules) {
		t.Fatalf("tags %v, %v", tags, err)
	}
	for _, tag := range tags {
		dir := strings.TrimSuffix(tag, "/v0.9.8")
		mod := must(t.Context(), t, clone, "show", tag+":"+dir+"/go.mod")
		for line := range strings.Lines(mod) {
			if strings.Contains(line, "karpenter-linode/modules/") && strings.Contains(line, " v") && !strings.Contains(line, " v0.9.8") {
				t.Errorf("%s requires %s", tag, strings.TrimSpace(line))
			}
		}
	}
}

func TestAnImagesUserIsNumbers(t *testing.T) {
	for text, want := range map[string][2]int{"65532:65532": {65532, 65532}, "1000": {1000, 1000}, "1:2": {1, 2}} {
		if uid, gid, err := user(text); err != nil || uid != want[0] || gid != want[1] {
			t.Errorf("%q is %d:%d, %v", text, uid, gid, err)
		}
	}
	for _, text := range []string{"", "nonroot", "1:users"} {
		if _, _, err := user(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func emptyRepository(t *testing.T, changelog string) string {
	root := t.TempDir()
	write(t, filepath.Join(root, "CHANGELOG.md"), changelog)
	must(t.Context(), t, root, "init", "--quiet")
	must(t.Context(), t, root, "add", ".")
	must(t.Context(), t, root, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "x")
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(ctx context.Context, t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, said.String())
	}
	return string(out)
}

// A long step without output shows that it goes on, and no such line comes after the step.
func TestProgressEndsWithItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		c := Config{Out: &out}
		err := c.during("still building", time.Minute, func() error {
			time.Sleep(150 * time.Second)
			return errors.New("the disk is full")
		})
		time.Sleep(time.Hour)
		if err == nil || strings.Count(out.String(), "still building\n") != 2 {
			t.Errorf("%v, %q", err, &out)
		}
	})
}
