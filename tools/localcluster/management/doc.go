// Package management runs Cluster API in a local cluster that manages itself: its definitions, its controllers (program
// controlplane.ClusterAPI, of Cluster API's own code) with their admission webhooks, and the objects of the local cluster.
//
// It is called by package localcluster in clusterapi mode. The control plane was not made by Cluster API: the Cluster has no
// controlPlaneRef, and one Machine stands for the user's own node, which runs no control plane, so that core notes the Cluster as
// initialized (core/reconcilers/cluster/cluster_controller_status.go of module sigs.k8s.io/cluster-api). Joining needs the Secret with the
// cluster's authority, whose key the kubeadm bootstrap provider does not use, and core makes the kubeconfig from.
//
// Webhooks are registered with the certificate of the local cluster's authority. Only version v1beta2 of the definitions is served, so
// that nothing is converted: conversion is not tested here.
//
// Start returns an error if the definitions are not served, if the API server does not call the webhooks, or if the controllers do not
// become ready before ctx ends. The controllers end with the process that Start returns.
//
// Start waits for up to two minutes until the API server calls the webhooks.
package management
