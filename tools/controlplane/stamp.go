package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// stamp identifies everything a pinned program is made of. go.sum pins the
// content of every dependency, so hashing the sources is not needed.
func stamp(root string, p Program, toolchain string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%q\n%q\n", toolchain, p.Package, p.LDFlags, buildFlags)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, p.Module, name))
		if err != nil {
			return "", fmt.Errorf("read the module of %s: %w", p.Name, err)
		}
		fmt.Fprintf(hash, "%s %d\n", name, len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func stampFile(bin string, p Program) string {
	return filepath.Join(bin, ".stamps", p.Name)
}

// upToDate reports whether the program in bin was built from exactly this stamp.
func upToDate(bin string, p Program, stamp string) bool {
	if len(Missing(bin, p.Name)) > 0 {
		return false
	}
	have, err := os.ReadFile(stampFile(bin, p))
	return err == nil && string(have) == stamp
}

// clearStamp goes before a build: a build that dies leaves no stamp behind.
func clearStamp(bin string, p Program) error {
	err := os.Remove(stampFile(bin, p))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func writeStamp(bin string, p Program, stamp string) error {
	file := stampFile(bin, p)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(stamp), 0o644)
}
