package ci_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

// pluginManifest is krew's, of version v1alpha2: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type pluginManifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// The manifest for krew has each archive of a release with its checksum. The compiled program does not matter here, so another program than
// Go writes it.
func TestTheManifestForKrewHasEachArchive(t *testing.T) {
	root, bin := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(bin, "go"):       "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\necho \"$GOOS $GOARCH\" >\"$2\"\n",
		filepath.Join(root, "LICENSE"): "Apache-2.0\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"modules/advisor", "contrib"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(root, "contrib/krew"), os.DirFS("../../contrib/krew")); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "../make/programs.sh")
	run.Env = append(os.Environ(), "ROOT="+root, "VERSION=1.2.3", "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made := filepath.Join(root, ".bin/programs")
	text, err := os.ReadFile(filepath.Join(made, "karpenter-linode.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := pluginManifest{}
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" ||
		!regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(manifest.Metadata.Name) || manifest.Spec.Version != "v1.2.3" ||
		manifest.Spec.Homepage == "" || manifest.Spec.Description == "" || len(manifest.Spec.ShortDescription) > 50 {
		t.Errorf("%+v", manifest)
	}
	archives, err := filepath.Glob(filepath.Join(made, "*.tar.gz"))
	if err != nil || len(archives) != 6 || len(manifest.Spec.Platforms) != 6 {
		t.Fatalf("%d archives, %d platforms: %v", len(archives), len(manifest.Spec.Platforms), err)
	}
	for _, p := range manifest.Spec.Platforms {
		system, bin := p.Selector.MatchLabels["os"], "karpenter-linode"
		if system == "windows" {
			bin += ".exe"
		}
		file := "karpenter-linode_1.2.3_" + system + "_" + p.Selector.MatchLabels["arch"] + ".tar.gz"
		content, err := os.ReadFile(filepath.Join(made, file))
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(content)
		if p.URI != "https://github.com/karpenter-linode/karpenter-linode/releases/download/v1.2.3/"+file || p.Bin != bin ||
			p.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%+v", p)
		}
	}
}
