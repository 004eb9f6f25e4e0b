package image

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
