package bootstrap

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// machine is the part of a Linode that a second boot resets or keeps.
type machine struct {
	files   map[string]string
	enabled []string // units that start at boot
	masked  []string
	modules []string // loaded now
	sysctls map[string]string
	swap    bool // on now
}

// boot does what systemd does at every boot; the image's /etc/fstab lists the swap disk.
func (m *machine) boot(swapDisk bool) {
	m.modules, m.sysctls = nil, map[string]string{}
	for path, content := range m.files {
		switch {
		case strings.HasPrefix(path, "/run/"), strings.HasPrefix(path, "/tmp/"):
			delete(m.files, path)
		case strings.HasPrefix(path, "/etc/modules-load.d/") && strings.HasSuffix(path, ".conf"):
			m.modules = append(m.modules, strings.Fields(content)...)
		case strings.HasPrefix(path, "/etc/sysctl.d/") && strings.HasSuffix(path, ".conf"):
			m.set(content)
		}
	}
	m.swap = swapDisk && !slices.Contains(m.masked, "swap.target")
}

func (m *machine) set(lines string) {
	for line := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(line, "="); ok {
			m.sysctls[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
}

// first runs the user data as cloud-init does, once. Of its scripts the lines are executed that this machine has a model of.
func (m *machine) first(t *testing.T, config cloudConfig) {
	t.Helper()
	for _, f := range config.Files {
		m.files[f.Path] = f.Content
	}
	for line := range strings.Lines(strings.ReplaceAll(config.content(t, home+"bootstrap.sh"), "sh host.sh\n", m.files[home+"host.sh"])) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "modprobe":
			m.modules = append(m.modules, strings.Fields(m.files[modulesFile])...)
		case words[0] == "sysctl":
			m.set(m.files[words[len(words)-1]])
		case words[0] == "swapoff":
			m.swap = false
		case words[0] == "systemctl" && words[1] == "mask":
			m.masked = append(m.masked, words[2:]...)
		case words[0] == "systemctl" && words[1] == "enable":
			m.enabled = append(m.enabled, strings.Trim(words[len(words)-1], `"`))
		}
	}
}

// kubeletStarts is the rule of the kubelet for its start.
func (m *machine) kubeletStarts(failSwapOn bool) bool { return !m.swap || !failSwapOn }

// At the second boot the host has everything that a kubelet needs, as at the first boot, also with a swap disk in the image's /etc/fstab.
func TestASecondBootHasWhatTheFirstHad(t *testing.T) {
	for _, row := range Types() {
		if row.UserData {
			continue // the user's own text
		}
		for name, allowed := range map[string]bool{"": false, ", swap allowed": true} {
			t.Run(row.Name+name, func(t *testing.T) {
				in := inputsOf(t, row)
				in.Node.Kubelet.AllowSwap = allowed
				rendered, err := row.Render(in)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(rendered.Content), "fail-swap-on=false") != allowed && row.Name != "kubeadm" {
					t.Errorf("swap is allowed: %t, and the user data is\n%s", allowed, rendered.Content)
				}
				config := readConfig(t, rendered.Content)
				m := &machine{files: map[string]string{}}
				m.boot(true)
				m.first(t, config)
				modules, sysctls := slices.Clone(m.modules), m.sysctls
				for boots := range 2 {
					if !m.kubeletStarts(!allowed) || m.swap != allowed {
						t.Errorf("after %d more boots swap is on: %t", boots, m.swap)
					}
					if row.Installer == "" && m.sysctls["net.ipv4.ip_forward"] != "1" {
						t.Errorf("after %d more boots no packet is forwarded: %v", boots, m.sysctls)
					}
					for _, module := range modules {
						if !slices.Contains(m.modules, module) {
							t.Errorf("after %d more boots %s is not loaded", boots, module)
						}
					}
					for key, value := range sysctls {
						if m.sysctls[key] != value {
							t.Errorf("after %d more boots %s is %q, and was %q", boots, key, m.sysctls[key], value)
						}
					}
					m.boot(true)
				}
				if len(m.enabled) != 1 {
					t.Errorf("the services that start at boot are %q", m.enabled)
				}
			})
		}
	}
}

// kubeadm's patch, Talos's machine config and the variable for custom user data have the setting, each in its form.
func TestAllowedSwapReachesTheKubelet(t *testing.T) {
	for name, test := range map[string]struct {
		render func(Config) ([]byte, error)
		text   string
	}{
		"kubeadm": {func(c Config) ([]byte, error) { return Kubeadm(c, kubeadmToken) }, "failSwapOn: false"},
		"talos":   {func(c Config) ([]byte, error) { return Talos(c.Node, []byte("machine: {type: worker}\n")) }, "failSwapOn: false"},
		"custom": {func(c Config) ([]byte, error) {
			return Custom([]byte("#!/bin/sh\nkubelet ${KARPENTER_KUBELET_ARGS}\n"), c, "")
		}, "--fail-swap-on=false"},
	} {
		for _, allowed := range []bool{true, false} {
			c := example()
			c.Node.Kubelet.AllowSwap = allowed
			text, err := test.render(c)
			if err != nil || strings.Contains(string(text), test.text) != allowed {
				t.Errorf("%s: allowed is %t, %v, and the user data is\n%s", name, allowed, err, text)
			}
		}
	}
}

// The commands before the join have the version in a variable, and the join does not begin where they fail.
func TestTheCommandsBeforeTheJoinHaveTheVersion(t *testing.T) {
	dir := t.TempDir() + "/"
	for name, text := range map[string]string{
		"host.sh": "", "before.sh": "set -eu\nprintf %s \"$" + VarKubeVersion + "\" >version\nexit 3\n",
		"bootstrap.sh": strings.ReplaceAll(kubeadmScript("v1.36.3", ""), home, dir),
	} {
		if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "sh", dir+"bootstrap.sh")
	if err := run.Run(); run.ProcessState == nil || run.ProcessState.ExitCode() != 3 {
		t.Errorf("the script ended with %v, expected the commands' own status", err)
	}
	if got, err := os.ReadFile(dir + "version"); string(got) != "v1.36.3" {
		t.Errorf("the commands have the version %q, %v", got, err)
	}
}
