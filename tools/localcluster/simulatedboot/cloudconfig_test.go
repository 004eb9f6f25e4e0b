package simulatedboot

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUserDataIsReadStrictly(t *testing.T) {
	for name, c := range map[string]struct{ text, problem string }{
		"good": {"#cloud-config\nhostname: a\nwrite_files: [{path: /a, content: b, permissions: \"0600\"}]\nruncmd: [[sh, " +
			"/a], \"echo b\"]\n", ""},
		"a script":             {"#!/bin/sh\ntrue\n", ""},
		"nothing":              {"", "there is no user data"},
		"unknown directive":    {"#cloud-config\npackages: [kubeadm]\n", "packages"},
		"unknown field":        {"#cloud-config\nwrite_files: [{path: /a, append: true}]\n", "append"},
		"relative path":        {"#cloud-config\nwrite_files: [{path: a}]\n", "write_files[0].path"},
		"another owner":        {"#cloud-config\nwrite_files: [{path: /a, owner: \"me:me\"}]\n", "write_files[0].owner"},
		"mode that is no mode": {"#cloud-config\nwrite_files: [{path: /a, permissions: rw}]\n", "write_files[0].permissions"},
		"another format":       {"{\"ignition\": {}}", "cloud-init takes #cloud-config"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.text)
			if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
}

// Cluster API's bootstrap data is a template. A text that is no template stays as it is.
func TestATemplateIsRendered(t *testing.T) {
	for name, c := range map[string]struct{ text, want, problem string }{
		"the label":     {"## template: jinja\n#cloud-config\nname: '{{ ds.meta_data.label }}'\n", "#cloud-config\nname: 'own-a'\n", ""},
		"no template":   {"#cloud-config\nname: '{{ ds }}'\n", "#cloud-config\nname: '{{ ds }}'\n", ""},
		"unknown value": {"## template: jinja\n#cloud-config\nname: {{ v1.name }}\n", "", "v1.name"},
		"a statement":   {"## template: jinja\n#cloud-config\n{% if a %}\n", "", "{% if a %}"},
	} {
		text, err := render(c.text, "own-a")
		if text != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A script of a boot starts no program of this machine and reaches no file outside of its root.
func TestScriptsStayWithinTheirRoot(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of this machine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script, says string
		fails        bool
	}{
		"writes and reads below the root": {"mkdir -p /etc/x && echo hello > /etc/x/y && cat /etc/x/y", "hello", false},
		"a known command is simulated":    {"sysctl -w net.ipv4.ip_forward=1", "[simulated, not run] sysctl -w net.ipv4.ip_forward=1", false},
		"a program of this machine":       {"/bin/ls /", "not found", true},
		"an unknown command":              {"no-such-thing", "no-such-thing: not found", true},
		"the first failure ends it":       {"set -eu\nfalse\necho later", "", true},
		"a file of this machine":          {"cat " + secret, "no such file", true},
		"by going up":                     {"cat ../../../../../../.." + secret, "no such file", true},
		"an image's directory":            {"touch /run/joined && echo hello > /tmp/x && cat /tmp/x", "hello", false},
		"a document in the script":        {"A=b\ncat > /tmp/x <<END\n[$A]\nEND\ncat /tmp/x", "[b]", false},
		"a script has its arguments":      {"echo 'echo \"[$2$#]\"' > /s && sh /s a b", "[b2]", false},
		"and the exported variables":      {"echo 'echo \"[$A$B]\"' > /s && B=b && A=a sh /s", "[a]", false},
		"a program of the boot":           {"command -v kubeadm >/dev/null && kubeadm join", "joined", false},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := openRoot(filepath.Join(t.TempDir(), "root"))
			if err != nil {
				t.Fatal(err)
			}
			defer root.close()
			out := &console{}
			sh := &shell{root: root, console: out, programs: map[string]program{
				"kubeadm": func(_ context.Context, call invocation) error {
					if len(call.args) != 1 {
						return errors.New("no arguments")
					}
					_, err := io.WriteString(call.out, "joined")
					return err
				},
			}}
			if err := sh.install(); err != nil {
				t.Fatal(err)
			}
			err = sh.run(t.Context(), command{shell: c.script})
			if (err != nil) != c.fails || !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "of this machine") ||
				strings.Contains(out.String(), "later") {
				t.Errorf("error %v, console %q; want %q", err, out, c.says)
			}
		})
	}
}
