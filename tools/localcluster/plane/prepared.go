package plane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Half of the time of a start passes while the API server and the controller manager
// fill an empty etcd with roles, namespaces and accounts. These are the same in every
// cluster. Prepare lets the programs do this once; Start begins with a copy.

// Prepare makes the state with which Start begins, unless there is such a state of these
// programs already. Without it, a start takes longer and has the same result.
func Prepare(ctx context.Context, bin string) error {
	target, err := preparedState(bin)
	if err != nil {
		return err
	}
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(target)); err != nil { // of older programs
		return fmt.Errorf("prepare: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(target), "making-")
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := Start(ctx, Config{Name: "prepared", Bin: bin, Dir: filepath.Join(dir, "state"), LogDir: filepath.Join(dir, "logs")})
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	p.Stop(context.WithoutCancel(ctx))
	if err := os.Rename(p.path("etcd"), target); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}

// preparedState is the folder for the state that these programs write with their arguments.
func preparedState(bin string) (string, error) {
	hash := sha256.New()
	p := &Plane{}
	for _, c := range []component{p.etcd(), p.apiserver(), p.controllerManager()} {
		build, err := os.ReadFile(filepath.Join(bin, ".stamps", c.name))
		if err != nil {
			return "", fmt.Errorf("prepare: %s was not built here: %w", c.name, err)
		}
		fmt.Fprintf(hash, "%s %s %q\n", c.name, build, c.args)
	}
	return filepath.Join(bin, ".prepared", hex.EncodeToString(hash.Sum(nil)[:8])), nil
}

// restore begins with the prepared state, if there is one.
func (p *Plane) restore() error {
	from, err := preparedState(p.cfg.Bin)
	if err != nil {
		return nil //nolint:nilerr // programs from elsewhere: begin with nothing
	}
	to := p.path("etcd")
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == from:
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(to+strings.TrimPrefix(path, from), 0o700)
		case strings.HasSuffix(path, ".tmp"):
			return nil // empty space that etcd sets aside
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to+strings.TrimPrefix(path, from), content, 0o600)
	})
}
