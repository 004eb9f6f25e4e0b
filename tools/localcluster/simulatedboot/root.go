package simulatedboot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// rootDir is the directory that stands for a machine's root.
type rootDir struct {
	dir  string
	root *os.Root // refuses paths that lead outside
}

func openRoot(dir string) (*rootDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &rootDir{dir: dir, root: root}, nil
}

// within is a path of the machine below the root.
func (r *rootDir) within(path string) string {
	below, _ := filepath.Rel("/", filepath.Clean("/"+path)) // both are absolute
	return below
}

// write makes a file and the directories above it.
func (r *rootDir) write(path, content string, mode fs.FileMode) error {
	name := r.within(path)
	if err := r.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := r.root.WriteFile(name, []byte(content), mode); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return r.root.Chmod(name, mode)
}

func (r *rootDir) read(path string) ([]byte, error) { return r.root.ReadFile(r.within(path)) }

func (r *rootDir) has(path string) bool {
	_, err := r.root.Stat(r.within(path))
	return err == nil
}

func (r *rootDir) close() { _ = r.root.Close() }
