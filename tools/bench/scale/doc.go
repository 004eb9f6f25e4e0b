// Package scale measures the operator on a large cluster: its memory while it gets
// hundreds of nodes for thousands of pods, and what it costs when it has nothing to
// do. cmd/bench-scale runs it for `make bench-scale`.
//
// Unlike package bench, which plays Karpenter core and the Kubernetes API in virtual
// time, nothing but the machines is played here: the local cluster's API server,
// scheduler and controller manager run, kwok plays the kubelets, and the operator is
// the process that its chart would run, so that the figures are those of the whole
// operator, Karpenter core and its caches included. Time is real.
//
// A run starts an Enterprise cluster of its own (a Standard one holds 250 nodes),
// scales Deployments until every pod runs, leaves the cluster alone until Karpenter
// has looked at every node for consolidation, and then watches the process, once
// more after the NodePool's policy left core nothing to plan: its physical memory,
// its time on the processor, its requests to the Linode API, and what a profile shows
// below functions of this repository.
//
// Then it does the same on a second cluster with the program that Karpenter core
// brings along: core with its provider for kwok (sigs.k8s.io/karpenter/kwok), of the
// version that the operator is built with. It has no API to ask; what it needs is what
// core needs. Targets are set for the ratios, which depend less on the machine than
// the figures do.
//
// Pods ask for a tenth of a node, and the NodePool takes one plan, so that the number
// of nodes is known beforehand.
//
// The window should be a multiple of five minutes: that is how often Karpenter core
// looks at all nodes for consolidation and for drift, and the operator at prices.
//
// Linux only: the figures are read from /proc. Whatever ends a run, ctx included, the
// clusters are stopped. One run at a time per name of a cluster.
package scale
