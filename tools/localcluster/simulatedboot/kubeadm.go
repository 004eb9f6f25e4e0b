package simulatedboot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// kubeadmDropIn are flags of the kubelet's service, which kubeadm's packages install. The service also takes the flags of two files.
var kubeadmDropIn = []string{
	"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf",
	"--config=/var/lib/kubelet/config.yaml",
}

const (
	joinTimeout   = "30s"                                // bounds discovery; kubeadm's own bound is 5 minutes
	kubeadmFlags  = "/var/lib/kubelet/kubeadm-flags.env" // KUBELET_KUBEADM_ARGS=...
	kubeletFlags  = "/etc/default/kubelet"               // KUBELET_EXTRA_ARGS=..., the user's
	kubeadmHandle = "KUBELET_KUBEADM_ARGS"
	kubeletHandle = "KUBELET_EXTRA_ARGS"
)

var _ = simulate("kubeadm", (*machine).kubeadm)

// kubeadm runs kubeadm's own code for `kubeadm join --config FILE`, its only use in a worker's boot.
func (m *machine) kubeadm(ctx context.Context, call invocation) error {
	args := call.args
	if len(args) != 3 || args[0] != "join" || args[1] != "--config" {
		return fmt.Errorf("%q: only join --config FILE is simulated", args)
	}
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, m.cfg.Program, "join", "--root="+m.root.dir, "--config="+machinePath(call.dir, args[2]),
		"--discovery-timeout="+joinTimeout)
	cmd.Env, cmd.Dir = environment(m.root.dir), m.root.dir
	cmd.Stdout, cmd.Stderr = call.out, &problem
	if err := cmd.Run(); err != nil {
		return errors.New(lastLine(problem.String(), err.Error()))
	}
	fmt.Fprintln(call.out, "[simulated, not run] kubeadm's preflight checks, systemctl restart kubelet")
	joining, err := m.environmentFile(kubeadmFlags, kubeadmHandle)
	if err != nil {
		return err
	}
	users, err := m.environmentFile(kubeletFlags, kubeletHandle)
	m.kubelet = append(append(append([]string{}, kubeadmDropIn...), joining...), users...)
	return err
}

// environmentFile returns the words of one variable in a file of assignments. It returns no words if the file does not exist.
func (m *machine) environmentFile(path, name string) ([]string, error) {
	if !m.root.has(path) {
		return nil, nil
	}
	content, err := m.root.read(path)
	if err != nil {
		return nil, err
	}
	var words []string
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			words = strings.Fields(strings.Trim(value, `"'`))
		}
	}
	return words, nil
}

func lastLine(text, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return strings.TrimPrefix(last, "error: ")
	}
	return otherwise
}
