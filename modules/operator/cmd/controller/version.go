package main

import coreoperator "sigs.k8s.io/karpenter/pkg/operator"

// commit is set by the linker when an image is built.
var commit = "unknown"

// userAgent identifies the build in the requests to the Linode API.
func userAgent() string { return "karpenter-linode/" + coreoperator.Version + " (" + commit + ")" }
