package simulatedboot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	ignition "github.com/coreos/ignition/v2/config"
	"github.com/coreos/ignition/v2/config/v3_6_experimental/types"
	"github.com/vincent-petithory/dataurl"
	"mvdan.cc/sh/v3/expand"
)

var _ = readBy("flatcar", (*machine).bootIgnition)

// bootIgnition does what Flatcar's first boot does with an Ignition config of spec 3: it writes the files, and starts the
// services that the config enables. Ignition's own code reads the config; an unknown key fails the boot.
func (m *machine) bootIgnition(ctx context.Context, userData string) error {
	config, report, err := ignition.Parse([]byte(userData))
	if err != nil {
		return fmt.Errorf("ignition: %w: %s", err, strings.TrimSpace(report.String()))
	}
	if len(report.Entries) > 0 {
		return fmt.Errorf("ignition: %s", strings.TrimSpace(report.String()))
	}
	if err := supported(config); err != nil {
		return fmt.Errorf("ignition: %w", err)
	}
	for _, file := range config.Storage.Files {
		if err := m.ignitionFile(file); err != nil {
			return fmt.Errorf("ignition: %s: %w", file.Path, err)
		}
	}
	for _, u := range config.Systemd.Units {
		if u.Enabled == nil || !*u.Enabled || u.Contents == nil {
			continue
		}
		if err := m.service(ctx, u.Name, *u.Contents); err != nil {
			return fmt.Errorf("%s: %w", u.Name, err)
		}
	}
	return nil
}

// supported returns an error that names the parts of the config that are not simulated.
func supported(config types.Config) error {
	rest := config
	rest.Ignition, rest.Storage.Files, rest.Systemd.Units = types.Ignition{}, nil, nil
	if !reflect.DeepEqual(rest, types.Config{}) {
		return errors.New("only ignition, storage.files and systemd.units are supported here")
	}
	source := config.Ignition
	source.Version = ""
	if !reflect.DeepEqual(source, types.Ignition{}) {
		return errors.New("the section ignition may have only version here")
	}
	for _, u := range config.Systemd.Units {
		if len(u.Dropins) > 0 {
			return fmt.Errorf("systemd unit %s: dropins are not supported here", u.Name)
		}
	}
	return nil
}

func (m *machine) ignitionFile(file types.File) error {
	if len(file.Append) > 0 || file.Contents.Compression != nil && *file.Contents.Compression != "" {
		return errors.New("append and compression are not supported here")
	}
	content := ""
	if file.Contents.Source != nil {
		source, err := dataurl.DecodeString(*file.Contents.Source)
		if err != nil {
			return fmt.Errorf("contents.source: only data URLs are supported here: %w", err)
		}
		content = string(source.Data)
	}
	mode := fs.FileMode(0o644)
	if file.Mode != nil {
		mode = fs.FileMode(*file.Mode).Perm() //nolint:gosec // Ignition has checked it
	}
	fmt.Fprintf(m.console, "[ignition] wrote %s\n", file.Path)
	return m.root.write(file.Path, content, mode)
}

// unitOptions are the accepted options of a unit. Only Environment and the options of the form Exec... have an effect.
var unitOptions = map[string][]string{
	"Unit": {"Description", "After", "Before", "Requires", "Wants", "ConditionPathExists", "ConditionFirstBoot"},
	"Service": {"Type", "Environment", "ExecStartPre", "ExecStart", "ExecStartPost", "RemainAfterExit", "Restart", "RestartSec",
		"TimeoutStartSec"},
	"Install": {"WantedBy"},
}

// service runs the commands of a unit once. A shell reads the command lines.
func (m *machine) service(ctx context.Context, name, contents string) error {
	options, err := unit.DeserializeOptions(strings.NewReader(contents))
	if err != nil {
		return err
	}
	sh, err := m.shell()
	if err != nil {
		return err
	}
	commands := map[string][]string{}
	for _, o := range options {
		if !slices.Contains(unitOptions[o.Section], o.Name) {
			return fmt.Errorf("[%s] %s is not supported here; the supported options are %s", o.Section, o.Name,
				strings.Join(unitOptions[o.Section], ", "))
		}
		switch o.Name {
		case "Environment":
			sh.env = append(sh.env, strings.Trim(o.Value, `"`))
		case "ExecStartPre", "ExecStart", "ExecStartPost":
			commands[o.Name] = append(commands[o.Name], o.Value)
		}
	}
	fmt.Fprintf(m.console, "[systemd] starting %s\n", name)
	for _, step := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		for _, line := range commands[step] {
			if err := sh.script(ctx, "/", name, line, expand.ListEnviron(sh.environ("/")...)); err != nil {
				return fmt.Errorf("%s=%s ended with %w", step, line, err)
			}
		}
	}
	return nil
}
