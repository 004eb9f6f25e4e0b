package simulatedboot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/k3s"
)

// installers maps the URL of a simulated installer's script to the program that it installs.
var installers = map[string]string{"https://get.k3s.io": "k3s", "https://get.rke2.io": "rke2"}

// simulatedInstaller is the command that stands in a simulated installer's script.
const simulatedInstaller = "install-simulated"

var (
	_ = simulate("curl", (*machine).curl)
	_ = simulate("systemctl", (*machine).systemctl)
	_ = simulate(simulatedInstaller, (*machine).install)
)

// curl simulates `curl OPTIONS --output FILE URL` for the installers, and for nothing else.
func (m *machine) curl(_ context.Context, call invocation) error {
	output, address := "", ""
	for i := 0; i < len(call.args); i++ {
		switch arg := call.args[i]; {
		case arg == "--output" && i+1 < len(call.args):
			i++
			output = call.args[i]
		case arg == "--retry" || arg == "--proto":
			i++
		case !strings.HasPrefix(arg, "-"):
			address = arg
		}
	}
	program, known := installers[address]
	if !known || output == "" {
		return fmt.Errorf("(6) Could not resolve host: %q with --output %q; the installers %q are simulated", address, output,
			slices.Sorted(maps.Keys(installers)))
	}
	fmt.Fprintf(call.out, "[simulated, not run] the script of %s\n", address)
	return m.root.write(machinePath(call.dir, output), simulatedInstaller+" "+program+"\n", 0o600)
}

// install simulates an installer. It makes the agent's service. The variables must ask for an agent, and for a version that
// the project could have published.
func (m *machine) install(_ context.Context, call invocation) error {
	program := strings.Join(call.args, " ")
	prefix, agent := "INSTALL_"+strings.ToUpper(program)+"_", ""
	switch program {
	case "k3s":
		agent = call.env.Get(prefix + "EXEC").String()
	case "rke2":
		agent = call.env.Get(prefix + "TYPE").String()
	}
	version := call.env.Get(prefix + "VERSION").String()
	if agent != "agent" {
		return fmt.Errorf("%s is installed as %q, not as an agent", program, agent)
	}
	if version != "" && !strings.Contains(version, "+"+program) {
		return fmt.Errorf("there is no release %q of %s: its versions end in +%s and a number", version, program, program)
	}
	fmt.Fprintf(call.out, "[simulated, not run] %s %s is installed\n", program, version)
	return m.root.write(agentUnit(program), "", 0o644)
}

func agentUnit(program string) string { return "/etc/systemd/system/" + program + "-agent.service" }

// systemctl starts the agents of k3s and RKE2, and masks units. Other services are simulated.
func (m *machine) systemctl(ctx context.Context, call invocation) error {
	fmt.Fprintf(call.out, "[simulated, not run] systemctl %s\n", strings.Join(call.args, " "))
	if len(call.args) > 0 && call.args[0] == "mask" {
		return m.mask(call.args[1:])
	}
	starts := slices.ContainsFunc(call.args, func(arg string) bool { return arg == "--now" || arg == "start" || arg == "restart" })
	for _, arg := range call.args {
		program, isAgent := strings.CutSuffix(strings.TrimSuffix(arg, ".service"), "-agent")
		if !isAgent || program != "k3s" && program != "rke2" {
			continue
		}
		if !m.root.has(agentUnit(program)) && !strings.Contains(strings.ToLower(m.image.Label), program) {
			//nolint:staticcheck // systemctl's words
			return fmt.Errorf("Unit %s-agent.service not found: neither an installer nor the image %q has it", program, m.image.Label)
		}
		if starts {
			return m.agent(ctx, program, call)
		}
	}
	return nil
}

// agentConfig is the part of an agent's config.yaml that is simulated.
type agentConfig struct {
	Server      string   `json:"server"`
	Token       string   `json:"token"`
	NodeName    string   `json:"node-name"`
	NodeLabels  []string `json:"node-label"`
	NodeTaints  []string `json:"node-taint"`
	NodeIP      string   `json:"node-ip"`
	KubeletArgs []string `json:"kubelet-arg"`
}

// agent registers as the agents of k3s and RKE2 do, and sets the flags of the kubelet, so that boot starts it.
func (m *machine) agent(ctx context.Context, program string, call invocation) error {
	file := filepath.Join("/etc/rancher", program, "config.yaml")
	content, err := m.root.read(file)
	if err != nil {
		return err
	}
	var config agentConfig
	if err := yaml.UnmarshalStrict(content, &config); err != nil {
		return fmt.Errorf("%s: %s", file, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	more, err := fs.Glob(m.root.root.FS(), m.root.within(file+".d")+"/*.yaml") // the agents read these after their own file
	if err != nil {
		return err
	}
	for _, name := range more {
		if content, err = m.root.read("/" + name); err == nil {
			err = yaml.UnmarshalStrict(content, &config)
		}
		if err != nil {
			return fmt.Errorf("/%s: %s", name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	if config.NodeName == "" {
		return errors.New("node-name is required: the simulated host has no other name")
	}
	joined, err := k3s.Join(ctx, k3s.Agent{Program: program, Server: config.Server, Token: config.Token, NodeName: config.NodeName,
		Files: machineFiles{m.root}})
	if err != nil {
		return err
	}
	trust := "is not verified, because the token has no hash"
	if joined.Pinned {
		trust = "matches the token"
	}
	fmt.Fprintf(call.out, "[%s agent] registered with %s, whose certificate authority %s\n", program, config.Server, trust)
	m.kubelet = joined.Args
	for flag, values := range map[string][]string{"--node-labels=": config.NodeLabels, "--register-with-taints=": config.NodeTaints} {
		if len(values) > 0 {
			m.kubelet = append(m.kubelet, flag+strings.Join(values, ","))
		}
	}
	if config.NodeIP != "" {
		m.kubelet = append(m.kubelet, nodeIPFlag+config.NodeIP)
	}
	for _, arg := range config.KubeletArgs {
		m.kubelet = append(m.kubelet, "--"+arg)
	}
	return nil
}

// machineFiles are the agent's files.
type machineFiles struct{ root *rootDir }

func (f machineFiles) Read(path string) ([]byte, error) { return f.root.read(path) }

func (f machineFiles) Write(path string, content []byte) error {
	return f.root.write(path, string(content), 0o600)
}
