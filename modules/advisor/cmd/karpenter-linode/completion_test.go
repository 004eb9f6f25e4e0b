package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completions runs the hidden command that the scripts of all shells call.
func completions(t *testing.T, stdin string, args ...string) []string {
	t.Helper()
	out, err := execute(t, stdin, append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, ":") {
			return found
		}
		found = append(found, strings.TrimSpace(line))
	}
	t.Fatalf("no directive in\n%s", out)
	return nil
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "explain opencost-prices plans rollout top verify whatif dump import completion help",
		"import ":                           "eks lke",
		"whatif -o ":                        "text json html",
		"whatif --output ":                  "text json html",
		"whatif --mode ":                    "lke instance clusterapi",
		"whatif --prices ":                  "api builtin",
		"whatif --region us-o":              "us-ord",
		"plans --regions al":                "all",
		"plans --output ":                   "text json",
		"top --output ":                     "text json",
		"opencost-prices -o ":               "csv json",
		"import eks -o ":                    "yaml json",
		"import lke -o ":                    "yaml steps json",
		"explain -o ":                       "text json",
		"explain ":                          "pod node nodeclaim",
		"explain --from - pod ":             "default/web",
		"explain --from - nodes ":           "lke1-7-a",
		"explain --from - nodeclaim ":       "",
		"explain --from - pod default/web ": "",
	} {
		words := strings.Split(args, " ")
		got := completions(t, cluster, words...)
		wanted := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%q: %v, want %v", args, got, wanted)
		}
	}
}

// TestCompletionScripts runs bash over its script. The other shells' scripts call the same hidden command.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, err := execute(t, "", "completion", shell)
		if err != nil || !strings.Contains(out, cobra.ShellCompRequestCmd) || !strings.Contains(out, "karpenter-linode") {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
		if shell != "bash" {
			continue
		}
		folder := t.TempDir()
		script := filepath.Join(folder, "completion.bash")
		program := "#!/bin/sh\nprintf '%s\\n' whatif :4\n" // stands for this program: prints a completion and the directive
		for name, text := range map[string]string{script: out, filepath.Join(folder, "karpenter-linode"): program} {
			if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}
		command := exec.CommandContext(t.Context(), "bash", "-c", `set -e; PATH=$1:$PATH; source "$2"
COMP_WORDS=(karpenter-linode wha) COMP_CWORD=1 COMP_LINE="karpenter-linode wha" COMP_POINT=20
_get_comp_words_by_ref() { cur=wha prev=karpenter-linode words=("${COMP_WORDS[@]}") cword=1; }
compopt() { :; }
complete -p karpenter-linode >&2; set +e
__start_karpenter-linode; printf '%s' "${COMPREPLY[*]}"`, "bash", folder, script)
		got, err := command.Output()
		if err != nil || strings.TrimSpace(string(got)) != "whatif" {
			t.Errorf("bash completes wha to %q: %v", got, err)
		}
	}
}

// TestEveryCommandHasAnOutputForPrograms finds subcommands without --output json. A dump is JSON itself.
func TestEveryCommandHasAnOutputForPrograms(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for _, sub := range command.Commands() {
			visit(sub)
		}
		if command.HasSubCommands() || command.Name() == "dump" {
			return
		}
		if flag := command.Flags().Lookup("output"); flag == nil || flag.Shorthand != "o" || !strings.Contains(flag.Usage, "json") {
			t.Errorf("%s has no -o json", command.CommandPath())
		}
	}
	visit(newRoot("karpenter-linode"))
	dump, err := execute(t, cluster, "dump", "--from", "-")
	if err != nil || !json.Valid([]byte(dump)) {
		t.Errorf("dump: %v\n%s", err, dump)
	}
}
