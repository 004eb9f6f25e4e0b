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
// more after the NodePool's policy left core nothing to plan:
//
//	peak_rss_mb            VmHWM: the most physical memory that it ever had; MB of 2^20
//	idle_cpu_percent       user and system time in the window, of one core
//	idle_calls_per_minute  requests to the Linode API that the simulator counted
//	own_cpu_percent        what a profile shows below functions of this repository
//	when_empty_cpu_percent idle_cpu_percent of the second window
//
// Pods ask for a tenth of a node, and the NodePool takes one plan, so that the number
// of nodes is known beforehand.
//
// The window should be a multiple of five minutes: that is how often Karpenter core
// looks at all nodes for consolidation and for drift, and the operator at prices.
//
// Memory and requests hardly depend on the machine, processor time does. Linux only:
// the figures are read from /proc. Whatever ends a run, ctx included, the cluster is
// stopped. One run at a time per name of a cluster.
package scale
