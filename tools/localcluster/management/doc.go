// Package management runs Cluster API in its management cluster, which is the local cluster itself or a separate control plane. It
// installs Cluster API's CRDs, starts its controllers (program controlplane.ClusterAPI, of Cluster API's own code) with their admission
// webhooks, and creates the objects of the local cluster.
//
// It is called by package localcluster in clusterapi mode. Cluster API did not make the control plane, so the Cluster has no
// controlPlaneRef. One Machine stands for the user's own node, which runs no control plane. So core marks the Cluster as initialized
// (core/reconcilers/cluster/cluster_controller_status.go of module sigs.k8s.io/cluster-api). Joining needs the Secret with the cluster's
// authority: core makes the kubeconfig from it. The kubeadm bootstrap provider does not use its key.
//
// Webhooks are registered with the certificate of the management cluster's authority. Only version v1beta2 of the CRDs is served, so
// that nothing is converted: conversion is not tested here.
//
// Start returns an error if the CRDs are not served, if the API server does not call the webhooks, or if the controllers do not
// become ready before ctx ends. The controllers end with the process that Start returns.
//
// Start waits for up to two minutes until the API server calls the webhooks.
package management
