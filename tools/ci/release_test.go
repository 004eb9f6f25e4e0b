package ci_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type releaseJob struct {
	Permissions map[string]string
	Environment string
	Steps       []struct {
		Uses, Run string
		With      map[string]any
		Env       map[string]string
	}
}

// commands are the first words of a job's commands, and of the commands of the Makefile's targets that it makes.
func (j releaseJob) commands(t *testing.T, makefile string) []string {
	t.Helper()
	var all []string
	add := func(script string) (targets []string) {
		for _, command := range regexp.MustCompile(`[|\n]|&&`).Split(script, -1) {
			words := strings.Fields(strings.TrimLeft(command, "@ \t"))
			switch {
			case len(words) == 0:
			case words[0] != "make":
				all = append(all, words[0])
			default:
				targets = append(targets, words[slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })+1])
			}
		}
		return targets
	}
	for _, step := range j.Steps {
		for _, target := range add(step.Run) {
			recipe := regexp.MustCompile(`(?m)^` + target + `:([^#\n]*)(?:#.*)?\n((?:\t.*\n)+)`).FindStringSubmatch(makefile)
			if recipe == nil {
				t.Fatalf("the Makefile has no target %s", target)
			}
			if needs := strings.TrimSpace(recipe[1]); needs != "" {
				all = append(all, "make "+needs)
			}
			add(regexp.MustCompile(`'[^']*'`).ReplaceAllString(recipe[2], "''"))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Code of a dependency that runs while the release is compiled reaches neither the registry nor the identity that signs: the job with
// these rights compiles nothing. docs/threat-model.md names the programs that it runs in spite of this.
func TestTheReleaseIsCompiledWithoutTheRightsToPublishIt(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text, makefile := read("../../.github/workflows/release.yml"), read("../../Makefile")
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]releaseJob
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	if workflow.Permissions == nil || len(workflow.Permissions) > 0 {
		t.Errorf("permissions of every job: %v, want {}", workflow.Permissions)
	}
	for name, want := range map[string]map[string]string{
		"build":   {"contents": "read"},
		"publish": {"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"},
	} {
		if got := workflow.Jobs[name].Permissions; !maps.Equal(got, want) {
			t.Errorf("permissions of the job %s: %v, want %v", name, got, want)
		}
	}
	if len(workflow.Jobs) != 2 || workflow.Jobs["publish"].Environment != "release" {
		t.Errorf("%d jobs, publish in the environment %q", len(workflow.Jobs), workflow.Jobs["publish"].Environment)
	}
	for name, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
				t.Errorf("the job %s leaves its token in the checkout", name)
			}
			if name == "publish" && strings.Contains(step.Uses, "/setup-") {
				t.Errorf("the job publish uses %s", step.Uses)
			}
		}
	}
	if build, _, _ := strings.Cut(text[strings.Index(text, "\n  build:"):], "\n  publish:"); strings.Contains(build, "secrets.") {
		t.Error("the job build is given a secret")
	}
	attested := map[string]bool{}
	for _, step := range workflow.Jobs["publish"].Steps {
		if strings.HasPrefix(step.Uses, "actions/attest-build-provenance@") {
			name, _ := step.With["subject-name"].(string)
			path, _ := step.With["subject-path"].(string)
			attested[strings.TrimPrefix(name, "${{ env.REGISTRY }}/")+path] = true
		}
	}
	for _, published := range []string{"karpenter-linode", "linodesim", "charts/karpenter", "charts/karpenter-crd",
		".bin/release/files/karpenter-linode*"} {
		if !attested[published] {
			t.Errorf("the provenance of %s is not attested: %v", published, attested)
		}
	}
	want := []string{".bin/cosign", ".bin/releaser", "gh", "printenv", "sed", "tar"}
	if got := workflow.Jobs["publish"].commands(t, makefile); !slices.Equal(got, want) {
		t.Errorf("the job publish runs %q, want %q", got, want)
	}
	for _, program := range want {
		if name, own := strings.CutPrefix(program, ".bin/"); own && !strings.Contains(read("../../docs/threat-model.md"), "`"+name+"`") {
			t.Errorf("docs/threat-model.md does not say that the job publish runs %s", name)
		}
	}
}

// The workflow attests the published files: each digest is found by its name, also if one name is the beginning of another.
func TestTheDigestsOfARelease(t *testing.T) {
	root := t.TempDir()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	digests := filepath.Join(root, ".bin/release/files/digests.txt")
	if err := os.MkdirAll(filepath.Dir(digests), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		digests: "ghcr.io/o/karpenter-linode@sha256:1\nghcr.io/o/linodesim@sha256:2\nghcr.io/o/charts/karpenter@sha256:3\n" +
			"ghcr.io/o/charts/karpenter-crd@sha256:4\n",
		filepath.Join(root, "Makefile"): string(makefile),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", root, "release-outputs").CombinedOutput()
	want := "controller=sha256:1\nlinodesim=sha256:2\nchart=sha256:3\nchart_crd=sha256:4\n"
	if err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
}
