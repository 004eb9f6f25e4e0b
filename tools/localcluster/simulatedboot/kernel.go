package simulatedboot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// kernel is the state of a running machine that its next boot loses.
type kernel struct {
	Modules []string          `json:"modules"`
	Sysctls map[string]string `json:"sysctls"`
	Swap    bool              `json:"swap"`
}

const (
	maskedSwap = "/etc/systemd/system/swap.target"
	masked     = "/dev/null" // stands for the link that systemd makes
	// firstBootFile keeps the kernel's state at the end of the first boot, to compare a later state with.
	firstBootFile = "/var/lib/simulated-first-boot.json"
	forwarding    = "net.ipv4.ip_forward"
)

// BootsAgain is on the console of a machine whose boot is not its first boot.
const BootsAgain = "[boot] again: nothing reads the user data"

var (
	_ = simulate("modprobe", (*machine).modprobe)
	_ = simulate("sysctl", (*machine).sysctl)
	_ = simulate("swapoff", (*machine).swapoff)
)

// startKernel does the work of systemd at each boot: it loads the modules and sets the sysctls of the files in /etc. It turns on the swap
// disk, which the /etc/fstab of Linode's images lists, unless swap.target is masked.
func (m *machine) startKernel() error {
	m.kernel = kernel{Swap: m.event.SwapMB > 0 && !m.root.has(maskedSwap)}
	for _, folder := range []string{"/etc/modules-load.d", "/etc/sysctl.d"} {
		files, err := fs.Glob(m.root.root.FS(), m.root.within(folder)+"/*.conf")
		if err != nil {
			return err
		}
		slices.Sort(files)
		for _, name := range files {
			content, err := m.root.read("/" + name)
			if err != nil {
				return err
			}
			if path.Base(folder) == "modules-load.d" {
				m.kernel.Modules = append(m.kernel.Modules, strings.Fields(string(content))...)
			} else {
				m.kernel.set(string(content))
			}
		}
	}
	return nil
}

// set sets the sysctls of lines of the form key = value.
func (k *kernel) set(lines string) {
	if k.Sysctls == nil {
		k.Sysctls = map[string]string{}
	}
	for line := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			k.Sysctls[strings.TrimPrefix(strings.TrimSpace(key), "-")] = strings.TrimSpace(value)
		}
	}
}

func (m *machine) modprobe(_ context.Context, call invocation) error {
	for _, arg := range call.args {
		if !strings.HasPrefix(arg, "-") {
			m.kernel.Modules = append(m.kernel.Modules, arg)
		}
	}
	return nil
}

// sysctl simulates -w KEY=VALUE and -p FILE; other options only silence it.
func (m *machine) sysctl(_ context.Context, call invocation) error {
	for i, arg := range call.args {
		switch {
		case strings.HasPrefix(arg, "-"):
		case strings.Contains(arg, "="):
			m.kernel.set(arg)
		case i > 0 && (call.args[i-1] == "-p" || call.args[i-1] == "--load"):
			content, err := m.root.read(machinePath(call.dir, arg))
			if err != nil {
				return err
			}
			m.kernel.set(string(content))
		}
	}
	return nil
}

func (m *machine) swapoff(context.Context, invocation) error {
	m.kernel.Swap = false
	return nil
}

// mask makes systemd never start a unit again.
func (m *machine) mask(units []string) error {
	for _, unit := range units {
		if !strings.HasPrefix(unit, "-") {
			if err := m.root.write("/etc/systemd/system/"+unit, masked, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepKernel writes the state that a later boot is compared with.
func (m *machine) keepKernel() error {
	content, err := json.Marshal(m.kernel)
	if err != nil {
		return err
	}
	return m.root.write(firstBootFile, string(content), 0o600)
}

// bootAgain starts the kernel as at the first boot, and compares its state with the first boot. It only reports a module that is not
// loaded. If the first boot set net.ipv4.ip_forward and this boot does not, it returns an error, because pods have no network then.
func (m *machine) bootAgain() error {
	fmt.Fprintln(m.console, BootsAgain)
	if err := m.startKernel(); err != nil {
		return err
	}
	content, err := m.root.read(firstBootFile)
	if err != nil {
		return err
	}
	var first kernel
	if err := json.Unmarshal(content, &first); err != nil {
		return err
	}
	for _, module := range first.Modules {
		if !slices.Contains(m.kernel.Modules, module) {
			fmt.Fprintf(m.console, "[kernel] %s is not loaded any more\n", module)
		}
	}
	if first.Sysctls[forwarding] == "1" && m.kernel.Sysctls[forwarding] != "1" {
		return fmt.Errorf("%s was 1 until the reboot, and is not set at boot: pods have no network", forwarding)
	}
	return nil
}

// checkSwap returns the kubelet's error if swap is on, and neither the kubelet's flags nor its configuration file allow swap.
func (m *machine) checkSwap(flags []string) error {
	if !m.kernel.Swap || slices.Contains(flags, "--fail-swap-on=false") {
		return nil
	}
	for _, flag := range flags {
		file, ok := strings.CutPrefix(flag, "--config=")
		if !ok {
			continue
		}
		content, err := m.root.read(file)
		if err != nil {
			return err
		}
		var config struct {
			FailSwapOn *bool `json:"failSwapOn"`
		}
		if err := yaml.Unmarshal(content, &config); err != nil {
			return err
		}
		if config.FailSwapOn != nil && !*config.FailSwapOn {
			return nil
		}
	}
	return errors.New("running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")
}
