// Package scale measures the operator on a large cluster: its memory while it gets
// hundreds of nodes for thousands of pods, and what it costs when it has nothing to
// do. cmd/bench-scale runs it for `make bench-scale`.
//
// Unlike package bench, which simulates Karpenter core and the Kubernetes API in virtual
// time, nothing but the machines is simulated here: the local cluster's API server,
// scheduler and controller manager run, kwok simulates the kubelets, and the operator is
// the process that its chart would run, so that the figures are those of the whole
// operator, Karpenter core and its caches included. Time is real.
//
// A run starts two Enterprise clusters of its own (a Standard one holds 250 nodes):
// one for the operator, one for the program that Karpenter core brings along, core
// with its provider for kwok (sigs.k8s.io/karpenter/kwok) of the version that the
// operator is built with. That provider has no API to call; its use of resources is core's.
// Both get the same load at the same time and are watched in the same minutes, so
// that other load of the machine affects both. Targets are set for the ratios,
// which depend less on the machine than the figures do.
//
// A run scales Deployments until every pod runs, leaves the clusters alone until
// Karpenter has looked at every node for consolidation, and then watches the
// processes, once more after the NodePool's policy left core nothing to plan: their
// physical memory and their time on the processor, and of the operator its requests
// to the Linode API and what a profile shows below functions of this repository.
//
// Pods request a tenth of a node, and the NodePool takes one plan, so that the number
// of nodes is known beforehand.
//
// The window should be a multiple of five minutes: that is how often Karpenter core
// looks at all nodes for consolidation and for drift, and the operator at prices.
//
// Linux only: the figures are read from /proc. Whatever ends a run, ctx included, the
// clusters are stopped. One run at a time per name of a cluster.
package scale
