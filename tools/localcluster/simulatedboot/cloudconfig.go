package simulatedboot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// cloudConfig is the part of cloud-init's format that is simulated.
type cloudConfig struct {
	Hostname string      `json:"hostname"`
	Files    []writeFile `json:"write_files"`
	Run      []command   `json:"runcmd"`
}

type writeFile struct {
	Path        string `json:"path"`
	Owner       string `json:"owner"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

// command is a list of arguments, or one string for a shell.
type command struct {
	args  []string
	shell string
}

// UnmarshalJSON reads both forms of a command.
func (c *command) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &c.shell); err == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &c.args); err != nil || len(c.args) == 0 {
		return fmt.Errorf("%s must be a string or a list of strings", raw)
	}
	return nil
}

// parse reads user data. A directive that is not known here is an error, where cloud-init would only warn.
func parse(userData string) (*cloudConfig, error) {
	first, _, _ := strings.Cut(userData, "\n")
	switch {
	case userData == "":
		return nil, errors.New("there is no user data")
	case strings.HasPrefix(first, "#!"):
		return &cloudConfig{Run: []command{{shell: userData}}}, nil
	case strings.TrimRight(first, " \r") != "#cloud-config":
		return nil, fmt.Errorf("the user data begins with %.40q; cloud-init takes #cloud-config, or #! and a script", first)
	}
	config := &cloudConfig{}
	if err := yaml.UnmarshalStrict([]byte(userData), config); err != nil {
		return nil, fmt.Errorf("cloud-config: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	for i, f := range config.Files {
		if !strings.HasPrefix(f.Path, "/") {
			return nil, fmt.Errorf("cloud-config: write_files[%d].path is %q; it must begin with /", i, f.Path)
		}
		if f.Owner != "" && f.Owner != "root:root" {
			return nil, fmt.Errorf("cloud-config: write_files[%d].owner is %q; there is only root:root here", i, f.Owner)
		}
		if _, err := f.mode(); err != nil {
			return nil, fmt.Errorf("cloud-config: write_files[%d].permissions is %q; it must be octal, as \"0600\"", i, f.Permissions)
		}
	}
	return config, nil
}

// template is the first line of user data that cloud-init renders with the Linode's data from the Metadata service.
const template = "## template: jinja\n"

var expression = regexp.MustCompile(`\{\{ *([^}]*?) *\}\}`)

// render replaces the expression ds.meta_data.label in user data that is a template. Any other expression or statement is an
// error.
func render(userData, label string) (string, error) {
	text, is := strings.CutPrefix(userData, template)
	if !is {
		return userData, nil
	}
	text = expression.ReplaceAllStringFunc(text, func(found string) string {
		if expression.FindStringSubmatch(found)[1] == "ds.meta_data.label" {
			return label
		}
		return found
	})
	if unknown := regexp.MustCompile(`\{[{%].*`).FindString(text); unknown != "" {
		return "", fmt.Errorf("the template has %.60q; only {{ ds.meta_data.label }} is known here", unknown)
	}
	return text, nil
}

// mode returns the mode of the file; cloud-init's default is 0644.
func (f writeFile) mode() (fs.FileMode, error) {
	if f.Permissions == "" {
		return 0o644, nil
	}
	mode, err := strconv.ParseUint(f.Permissions, 8, 12)
	return fs.FileMode(mode), err
}
