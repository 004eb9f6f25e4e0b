// Package scale measures the operator on a large cluster: its memory while it gets
// hundreds of nodes for thousands of pods, and what it costs when it has nothing to
// do. cmd/bench-scale runs it for `make bench-scale`.
//
// Package bench simulates Karpenter core and the Kubernetes API in virtual time.
// This package simulates the machines alone: the local cluster's API server,
// scheduler and controller manager run, kwok simulates the kubelets, and the operator
// is the process that its chart would run. The figures are about the whole
// operator, Karpenter core and its caches included. Time is real.
//
// A run starts an Enterprise cluster of its own (a Standard cluster holds 250 nodes) and
// scales Deployments until every pod runs. It leaves the cluster alone until
// Karpenter has looked at every node for consolidation, and then watches the
// process: its physical memory, its time on the processor, its requests to the
// Linode API, and the share of functions of this repository in a profile. It
// watches once more after the NodePool's policy left core nothing to plan.
//
// The time at rest is twice Settle and Rest, and up to a minute for the profile:
// with Settle 2m and Rest 5m that is 15 minutes. If nodes or pods come or go in a
// window, the window is measured again, three times at most, and then the run fails.
// In the profile a sample is ours if a function of this repository is on its stack,
// except for functions that only pass core's calls on.
//
// Each pod requests a tenth of a node, and the NodePool takes one plan, so that the
// number of nodes is known beforehand.
//
// The window should be a multiple of five minutes: that is how often Karpenter core
// looks at all nodes for consolidation and for drift, and the operator at prices.
//
// Run returns an error if pods do not all run within Config.Patience, and as soon as
// the operator or a part of the control plane ends; the error names the folder with
// the logs. Linux only: the figures are read from /proc. Whatever ends a run, ctx
// included, the cluster is stopped. One run at a time per name of a cluster.
package scale
