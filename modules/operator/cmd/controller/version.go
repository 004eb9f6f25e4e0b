package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	coreoperator "sigs.k8s.io/karpenter/pkg/operator"
)

// commit is set by the linker when an image is built.
var commit = "unknown"

// userAgent identifies the build in the requests to the Linode API.
func userAgent() string { return "karpenter-linode/" + coreoperator.Version + " (" + commit + ")" }

// version returns one line about the build, for bug reports.
func version() string {
	return fmt.Sprintf("karpenter-linode %s (commit %s, Karpenter core %s, %s %s/%s)", coreoperator.Version, commit, coreVersion(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// coreVersion returns the version of Karpenter core in the build.
func coreVersion() string {
	info, _ := debug.ReadBuildInfo() // nil only in a program that is not built from modules
	for _, module := range info.Deps {
		if module.Path == "sigs.k8s.io/karpenter" {
			return module.Version
		}
	}
	return "unknown"
}
