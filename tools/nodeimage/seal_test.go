package nodeimage_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sealable is a root folder with the files that are unique to an installed machine.
func sealable(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for path, content := range map[string]string{
		"usr/local/bin/kubeadm": "kubeadm", "usr/bin/cloud-init": "cloud-init", "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
		"var/lib/dbus/machine-id": "0123456789abcdef0123456789abcdef\n", "etc/ssh/ssh_host_ed25519_key": "key", "etc/ssh/sshd_config": "keep",
		"root/.ssh/authorized_keys": "key", "root/.bash_history": "history", "var/lib/systemd/random-seed": "seed",
	} {
		write(t, filepath.Join(b.root, path), content)
	}
	return b
}

func TestSealRemovesWhatBelongsToOneMachine(t *testing.T) {
	b := sealable(t)
	for range 2 {
		output, err := b.run(t, "seal")
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		if !strings.Contains(output, "not run: cloud-init clean --logs") {
			t.Errorf("cloud-init is not cleaned: %s", output)
		}
		var names []string
		for _, line := range tree(t, b.root) {
			name, _, _ := strings.Cut(line, " ")
			names = append(names, name)
		}
		want := []string{"/etc/machine-id", "/etc/ssh/sshd_config", "/usr/bin/cloud-init", "/usr/local/bin/kubeadm"}
		if !slices.Equal(names, want) {
			t.Errorf("left are %q, expected %q", names, want)
		}
		if got := read(t, filepath.Join(b.root, "etc/machine-id")); got != "" {
			t.Errorf("the machine's ID is %q, expected an empty file", got)
		}
	}
}

func TestSealRefusesWhatIsNoImageOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		add, remove, want string
	}{
		"a node":              {"etc/kubernetes/kubelet.conf", "", "/etc/kubernetes/kubelet.conf: this machine has joined a cluster"},
		"a node that joins":   {"etc/kubernetes/bootstrap-kubelet.conf", "", "bootstrap-kubelet.conf: this machine has joined a cluster"},
		"keys of a node":      {"var/lib/kubelet/pki/kubelet.key", "", "/var/lib/kubelet/pki: this machine has joined a cluster"},
		"no kubeadm":          {"", "usr/local/bin/kubeadm", "/usr/local/bin/kubeadm: missing; run install first"},
		"no cloud-init":       {"", "usr/bin/cloud-init", "/usr/bin/cloud-init: missing"},
		"cloud-init disabled": {"etc/cloud/cloud-init.disabled", "", "/etc/cloud/cloud-init.disabled: cloud-init has to run in nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := sealable(t)
			if c.add != "" {
				write(t, filepath.Join(b.root, c.add), "")
			}
			if c.remove != "" {
				b.remove(t, c.remove)
			}
			before := tree(t, b.root)
			output, err := b.run(t, "seal")
			if err == nil || !strings.Contains(output, c.want) {
				t.Errorf("%v: %s\nexpected a failure with %q", err, output, c.want)
			}
			if after := tree(t, b.root); !slices.Equal(after, before) {
				t.Errorf("it changed\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
		})
	}
}
