// Package addons installs what an LKE cluster has of its own from the start: the DaemonSets that run on every node, with
// their requests, and the block storage driver's registration and StorageClasses.
//
// It is called by package localcluster. What the driver does is played by package
// blockstorage; kwok plays the DaemonSets' pods. The requests are why two pods of one CPU do not fit a plan of two.
//
// Not installed: LKE's Deployments (coredns, calico-kube-controllers), whose pods would take room on the user's node,
// and the cloud controller manager, which package lkeplayer plays.
package addons
