package moduleproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Prefix begins the paths of all modules of the repository.
const Prefix = "github.com/karpenter-linode/karpenter-linode/"

// Version is the version that the modules require of each other.
const Version = "v0.1.0"

// Publish writes the module in root/dir, for example modules/linode, to the
// proxy in the given directory, in the layout of GOPROXY.
func Publish(proxy, root, dir string) error {
	mod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if err != nil {
		return err
	}
	return write(proxy, module.Version{Path: Prefix + dir, Version: Version}, mod, func(file io.Writer, m module.Version) error {
		return zip.CreateFromDir(file, m, filepath.Join(root, dir))
	})
}

// write writes one version of a module: its list, .info, .mod and .zip.
func write(proxy string, m module.Version, mod []byte, pack func(io.Writer, module.Version) error) (err error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pack(file, m); err != nil {
		return fmt.Errorf("pack %s: %w", m.Path, err)
	}
	return nil
}

// PublishTag writes a module to the proxy as it is at its tag dir/version in a repository.
func PublishTag(ctx context.Context, proxy, repository, dir, version string) error {
	tag := dir + "/" + version
	mod, err := exec.CommandContext(ctx, "git", "-C", repository, "show", tag+":"+dir+"/go.mod").Output()
	if err != nil {
		return fmt.Errorf("read go.mod of %s: %w", tag, err)
	}
	return write(proxy, module.Version{Path: Prefix + dir, Version: version}, mod, func(file io.Writer, m module.Version) error {
		return zip.CreateFromVCS(file, m, repository, tag, dir)
	})
}
