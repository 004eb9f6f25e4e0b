package moduleproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Prefix is what the paths of all modules of the repository begin with.
const Prefix = "github.com/karpenter-linode/karpenter-linode/"

// Version is what the modules require of each other.
const Version = "v0.1.0"

// Publish writes the module in root/dir, for example modules/linode, to the
// proxy in the given directory, in the layout of GOPROXY.
func Publish(proxy, root, dir string) (err error) {
	m := module.Version{Path: Prefix + dir, Version: Version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(Version + "\n"), Version + ".info": info, Version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(at, Version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := zip.CreateFromDir(file, m, filepath.Join(root, dir)); err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return nil
}
