package simulatedboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// Simulated lists the commands that a boot needs and that are not done here. modprobe, swapoff and sysctl change the simulated kernel (see
// kernel); the others do nothing.
func Simulated() []string {
	return []string{
		"apt-get", "dnf", "hostnamectl", "iptables", "modprobe", "mount", "sed", "swapoff", "sysctl", "umount", "update-ca-certificates",
	}
}

const binDir = "/usr/bin" // where a script finds its commands

// shell runs scripts within a root.
type shell struct {
	root    *rootDir
	console io.Writer
	// programs are the commands that do more than change files.
	programs map[string]program
	env      []string // in addition to PATH, HOME and PWD
}

// program is a command. The shell prints its error after its name.
type program func(ctx context.Context, call invocation) error

// invocation is one call of a program.
type invocation struct {
	args []string
	env  expand.Environ
	dir  string
	out  io.Writer
}

// programs has the machine's programs by their names. simulate adds a program, in the file that simulates it.
var programs = map[string]func(*machine, context.Context, invocation) error{}

func simulate(name string, run func(*machine, context.Context, invocation) error) bool { //nolint:unparam // so that it may be a declaration
	programs[name] = run
	return true
}

// shell returns the machine's shell, with all programs that a boot may start.
func (m *machine) shell() (*shell, error) {
	sh := &shell{root: m.root, console: m.console, programs: map[string]program{}}
	for name, run := range programs {
		sh.programs[name] = func(ctx context.Context, call invocation) error { return run(m, ctx, call) }
	}
	return sh, sh.install()
}

// directories lists the directories that every image has.
var directories = []string{
	"/etc/default", "/etc/modules-load.d", "/etc/sysctl.d", "/etc/systemd/system", "/opt", "/root", "/run", "/tmp", "/usr/local/bin",
	"/var/lib", "/var/log",
}

// install makes the image's directories, and a file for each command, which `command -v` finds.
func (s *shell) install() error {
	for _, directory := range directories {
		if err := s.root.root.MkdirAll(s.root.within(directory), 0o755); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(Simulated(), fileCommands, []string{"sh"}, slices.Collect(maps.Keys(s.programs))) {
		if err := s.root.write(filepath.Join(binDir, name), "", 0o755); err != nil {
			return err
		}
	}
	return nil
}

// run runs one command of runcmd.
func (s *shell) run(ctx context.Context, c command) error {
	if c.shell != "" {
		return s.script(ctx, "/", "runcmd", c.shell, expand.ListEnviron(s.environ("/")...))
	}
	words := make([]string, 0, len(c.args))
	for _, arg := range c.args {
		word, err := syntax.Quote(arg, syntax.LangPOSIX)
		if err != nil {
			return err
		}
		words = append(words, word)
	}
	return s.script(ctx, "/", "runcmd", strings.Join(words, " "), expand.ListEnviron(s.environ("/")...))
}

// environ returns the environment of a boot's command. PATH is a path of this host, because the interpreter's `command -v` looks for
// files of this host. PATH leads it to the files of the root.
func (s *shell) environ(dir string) []string {
	return append([]string{"PATH=" + filepath.Join(s.root.dir, binDir), "HOME=/root", "PWD=" + dir}, s.env...)
}

// script runs a text in a directory of the machine.
func (s *shell) script(ctx context.Context, dir, name, text string, env expand.Environ, args ...string) error {
	program, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), name)
	if err != nil {
		return err
	}
	runner, err := interp.New(
		interp.Env(env), interp.Params(append([]string{"--"}, args...)...), interp.StdIO(nil, s.console, s.console),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(func(_ context.Context, path string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
			if path == os.DevNull { // the only device
				return os.OpenFile(os.DevNull, os.O_RDWR, 0)
			}
			return s.root.root.OpenFile(s.root.within(path), flag, perm)
		}),
		interp.StatHandler(func(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
			if follow {
				return s.root.root.Stat(s.root.within(name))
			}
			return s.root.root.Lstat(s.root.within(name))
		}),
		interp.AccessHandler(func(_ context.Context, path string, _ interp.AccessMode) error {
			_, err := s.root.root.Stat(s.root.within(path)) // the user is root, which may do all with an existing file
			return err
		}),
		interp.ReadDirHandler2(func(_ context.Context, path string) ([]fs.DirEntry, error) {
			return fs.ReadDir(s.root.root.FS(), s.root.within(path))
		}),
	)
	if err != nil {
		return err
	}
	runner.Dir = dir
	return runner.Run(ctx, program)
}

// exec runs a command that is not built into the shell.
func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	name := args[0]
	if path, inBin := strings.CutPrefix(name, binDir+"/"); inBin {
		name = path
	}
	switch run, ours := s.programs[name]; {
	case ours:
		return s.report(hc.Stderr, name, run(ctx, invocation{args[1:], hc.Env, hc.Dir, hc.Stdout}))
	case name == "sh":
		return s.subshell(ctx, hc, args[1:])
	case slices.Contains(fileCommands, name):
		return s.report(hc.Stderr, name, s.files(hc, name, args[1:]))
	case slices.Contains(Simulated(), name):
		fmt.Fprintf(hc.Stdout, "[simulated, not run] %s\n", strings.Join(args, " "))
		return nil
	case filepath.IsAbs(name) && s.root.has(name):
		return s.file(ctx, hc, name, args[1:])
	}
	fmt.Fprintf(hc.Stderr, "sh: %s: not found\n", name)
	return interp.ExitStatus(127)
}

// report prints a command's error, and turns it into an exit status.
func (s *shell) report(to io.Writer, name string, err error) error {
	var status interp.ExitStatus
	if err == nil || errors.As(err, &status) || errors.Is(err, context.Canceled) {
		return err
	}
	fmt.Fprintf(to, "%s: %v\n", name, err)
	return interp.ExitStatus(1)
}

func (s *shell) subshell(ctx context.Context, hc interp.HandlerContext, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "-c":
		return s.script(ctx, hc.Dir, "sh -c", args[1], exported(hc.Env))
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		return s.file(ctx, hc, machinePath(hc.Dir, args[0]), args[1:])
	}
	fmt.Fprintf(hc.Stderr, "sh: %q: only FILE with its arguments and -c TEXT are simulated\n", args)
	return interp.ExitStatus(2)
}

// file runs a script of the machine.
func (s *shell) file(ctx context.Context, hc interp.HandlerContext, path string, args []string) error {
	text, err := s.root.read(path)
	if err != nil {
		return s.report(hc.Stderr, "sh", err)
	}
	return s.script(ctx, hc.Dir, path, string(text), exported(hc.Env), args...)
}

// exported returns the shell's variables that a command inherits.
func exported(env expand.Environ) expand.Environ {
	var pairs []string
	for name, v := range env.Each {
		if v.Exported && v.Kind == expand.String {
			pairs = append(pairs, name+"="+v.Str)
		}
	}
	return expand.ListEnviron(pairs...)
}

func machinePath(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

var fileCommands = []string{"cat", "chmod", "mkdir", "rm", "touch", "true"}

// files runs the few commands on files that a boot uses. It ignores options, and acts as if the options that silence or force were given.
func (s *shell) files(hc interp.HandlerContext, name string, args []string) error {
	paths := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if name == "cat" && len(paths) == 0 && hc.Stdin != nil {
		_, err := io.Copy(hc.Stdout, hc.Stdin)
		return err
	}
	if name == "chmod" && len(paths) > 0 {
		paths = paths[1:] // the modes of a boot's files have no effect here
	}
	for _, path := range paths {
		below := s.root.within(machinePath(hc.Dir, path))
		var err error
		switch name {
		case "cat":
			var text []byte
			text, err = s.root.root.ReadFile(below)
			_, _ = hc.Stdout.Write(text)
		case "chmod":
			_, err = s.root.root.Stat(below)
		case "mkdir":
			err = s.root.root.MkdirAll(below, 0o755)
		case "rm":
			err = s.root.root.RemoveAll(below)
		case "touch":
			var f *os.File
			if f, err = s.root.root.OpenFile(below, os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
