// Package lke makes nodes of LKE mode: nodes of the pools of one LKE cluster, Standard or Enterprise tier. It is a Backend of package
// cloudprovider over an allocator.Allocator.
//
// Only this package knows both sides: NodeClaims and LinodeNodeClasses of Kubernetes, and the Request for a node of a pool. A Request is
// a pure function of a NodeClaim, its NodePool and class, and the cluster. A pool gets only labels and taints that LKE accepts; Karpenter
// puts the others on the Node when the Node registers.
//
// Guarantees: one node for each NodeClaim, as package lkepool guarantees. The package uses only pools of this cluster with the operator's
// tags.
//
// Not guaranteed: that a node joins. Core replaces a NodeClaim whose node has not registered within 15 minutes.
//
// Packages below it: registrationtaint keeps pods off nodes without NodeClaim, adoption takes over nodes of the alpha provider. All methods
// are safe for concurrent use.
//
// If a node is on its way for longer than LKE usually takes, its launch fails with InsufficientCapacity, and its plan rests. After three
// minutes (PendingTimeout) garbage collection removes its place in the pool. Errors are *claims.Error, which package cloudprovider
// translates for core. Tracker reads the cluster's version at most once in four minutes, so new nodes of an Enterprise cluster have an
// upgraded version within that time.
//
// The start fails if no cluster or several clusters have the label, if the API version hides the Enterprise tier, or if CLUSTER_REGION is
// set to another region. A class with isolation on LKE Standard is KindInvalid. A node has drifted if its instance is gone or stopped, or
// if labels, taints, firewall or Kubernetes version of its pool differ from a new pool. Unknown values never count as drift. Pools get no
// labels or taints in reserved domains.
package lke
