package bootstrap

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// home is the folder of the files that this package writes.
const home = "/var/lib/karpenter-bootstrap/"

// cloudConfig is the part of cloud-init's format that this package uses.
type cloudConfig struct {
	Hostname string     `yaml:"hostname"`
	Files    []file     `yaml:"write_files"`
	Run      [][]string `yaml:"runcmd"`
}

type file struct {
	Path        string `yaml:"path"`
	Owner       string `yaml:"owner"`
	Permissions string `yaml:"permissions"`
	Content     string `yaml:"content"`
}

// add writes a file that only root may read, because it may hold a token.
func (c *cloudConfig) add(path, content string) {
	c.Files = append(c.Files, file{Path: path, Owner: "root:root", Permissions: "0600", Content: content})
}

// addYAML writes a file of YAML documents.
func (c *cloudConfig) addYAML(path string, documents ...any) error {
	text, err := encode(documents...)
	if err != nil {
		return err
	}
	c.add(path, string(text))
	return nil
}

// commands writes the user's commands as a script, which ends at the first command that fails.
func (c *cloudConfig) commands(path string, commands []string) {
	c.add(path, "set -eu\n"+strings.Join(append(commands, ""), "\n"))
}

func (c *cloudConfig) render() ([]byte, error) {
	text, err := encode(c)
	return append([]byte("#cloud-config\n"), text...), err
}

func encode(documents ...any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	for _, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return nil, err
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
