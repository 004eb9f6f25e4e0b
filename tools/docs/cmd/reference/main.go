// Command reference writes the generated pages of docs/. Called by `make generate`.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/docs/reference"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return err
	}
	for _, setting := range options.DescribeCore() { // core would show a variable's value as the setting's default
		if err := os.Unsetenv(setting.Variables[0]); err != nil {
			return err
		}
	}
	for name, write := range map[string]func(root string) (string, error){
		"configuration.md": reference.Configuration,
		"metrics.md":       reference.Metrics,
		"plans.md":         reference.Plans,
	} {
		text, err := write(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(text), 0o644); err != nil { //nolint:gosec // a published page
			return err
		}
	}
	return nil
}
