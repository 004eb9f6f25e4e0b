package controlplane

import (
	"errors"
	"os"
	"path/filepath"
)

// FindRoot walks up from dir to the repository's root: the folder with go.work.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the repository: no folder above has a go.work")
		}
		dir = parent
	}
}
