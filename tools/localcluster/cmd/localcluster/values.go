package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// chosen holds the settings of the operator's chart from the command line.
type chosen struct {
	file  string // with values; "" = none
	gates string // Gate=true,Gate=false
}

// apply reads the values into the options. Gates override the file, and the file overrides the values that the local cluster sets.
func (c *chosen) apply(opts *localcluster.Options) error {
	values := map[string]any{}
	if c.file != "" {
		path, err := filepath.Abs(c.file)
		if err != nil {
			return err
		}
		c.file = path // the background process may have another working directory
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("values: %w", err)
		}
		if err := yaml.UnmarshalStrict(content, &values); err != nil {
			return fmt.Errorf("values: %s: %w", path, err)
		}
	}
	if err := c.setGates(values); err != nil {
		return err
	}
	if replicas, ok := values["replicas"].(float64); ok {
		opts.Replicas = int(replicas)
	}
	if len(values) > 0 {
		opts.Values = values
	}
	return nil
}

// setGates sets settings.featureGates, where a gate's name begins with a small letter. It accepts any
// name; the chart's schema defines the gates.
func (c *chosen) setGates(values map[string]any) error {
	if c.gates == "" {
		return nil
	}
	for gate := range strings.SplitSeq(c.gates, ",") {
		name, text, given := strings.Cut(strings.TrimSpace(gate), "=")
		on, err := strconv.ParseBool(text)
		if name == "" || !given || err != nil {
			return fmt.Errorf("gates: %q: use a list such as CapacityBuffer=true,NodeRepair=true", gate)
		}
		path := []string{"settings", "featureGates", strings.ToLower(name[:1]) + name[1:]}
		if err := unstructured.SetNestedField(values, on, path...); err != nil {
			return fmt.Errorf("values: settings and settings.featureGates of %s must be objects", c.file)
		}
	}
	return nil
}
