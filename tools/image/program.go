package image

import (
	"fmt"
	"slices"
	"strings"
)

// Program is one command that becomes an image.
type Program struct {
	Name        string // of the layout's folder and of the image
	Module      string // folder below the repository's root
	Package     string // import path
	Description string
	VersionVar  string // set to the version by the linker; main.commit is set to the commit
}

const repositoryPath = "github.com/karpenter-linode/karpenter-linode/"

// Programs are all images that the repository publishes.
var Programs = []Program{
	{
		Name: "controller", Module: "modules/operator", Package: repositoryPath + "modules/operator/cmd/controller",
		Description: "Karpenter for Linode Kubernetes Engine",
		VersionVar:  "sigs.k8s.io/karpenter/pkg/operator.Version",
	},
	{
		Name: "linodesim", Module: "modules/linodesim", Package: repositoryPath + "modules/linodesim/cmd/linodesim",
		Description: "Simulator of the Linode API",
		VersionVar:  "main.version",
	},
}

// Find returns the programs of these names; all of them without a name.
func Find(names ...string) ([]Program, error) {
	if len(names) == 0 {
		return Programs, nil
	}
	var found []Program
	for _, name := range names {
		at := slices.IndexFunc(Programs, func(p Program) bool { return p.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("image %q does not exist: use %s", name, strings.Join(Names(), " or "))
		}
		found = append(found, Programs[at])
	}
	return found, nil
}

// Names are those of all programs.
func Names() []string {
	var names []string
	for _, p := range Programs {
		names = append(names, p.Name)
	}
	return names
}
