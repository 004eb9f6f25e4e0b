// Package scale measures the operator on a large cluster: its memory while it gets
// hundreds of nodes for thousands of pods, and its memory, processor time and requests
// when it has no work. cmd/bench-scale runs it for `make bench-scale`.
//
// Package bench simulates Karpenter core and the Kubernetes API in virtual time.
// This package simulates the machines alone: the local cluster's API server,
// scheduler and controller manager run, kwok simulates the kubelets, and the operator
// is the process that its chart would run. The figures are about the whole
// operator, Karpenter core and its caches included. Time is real.
//
// A run starts an Enterprise cluster of its own (a Standard cluster holds 250 nodes) and
// creates Deployments until every pod runs. It leaves the cluster alone until
// Karpenter has looked at every node for consolidation. Then it watches the process for
// a window: its physical memory, its processor time, its requests to the Linode API,
// and, in a profile, the share of this repository's functions. Then it sets the
// NodePool's policy to WhenEmpty, under which core has nothing to plan, and watches the
// process for a second window.
//
// The time at rest is twice Settle and Rest, and up to a minute for the profile. Example:
// Settle 2m and Rest 5m take 15 minutes. If nodes or pods come or go in a window, the
// window is measured again. After three such windows the run fails. In the profile a
// sample counts as ours if a function of this repository is on its stack, except for
// functions that only pass core's calls on.
//
// Each pod requests a tenth of a node, and the NodePool allows one plan, so that the
// number of nodes is known before the run.
//
// Rest should be a multiple of five minutes, because every five minutes Karpenter core
// looks at all nodes for consolidation and for drift, and the operator reads prices.
//
// Run returns an error if pods do not all run within Config.Patience, and as soon as
// the operator or a part of the control plane ends; the error names the folder with
// the logs. Run works on Linux only, because it reads /proc. It stops the cluster at its
// end, also after an error and when ctx ends. Two runs at a time need two names.
package scale
