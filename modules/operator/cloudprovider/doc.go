// Package cloudprovider is Karpenter's CloudProvider for Linode Kubernetes Engine.
//
// It stands between Karpenter core, which speaks of NodeClaims, and lkepool, which speaks of claims on
// nodes of LKE pools: Create picks the cheapest plan that meets a NodeClaim and claims a node of it,
// Delete releases that node, Get and List tell which nodes are claimed, IsDrifted compares a node with
// what would be made now.
//
// Guarantees: an instance is reported as not found only when the Linode API has proven it; every error
// of lkepool reaches core as the type that the table in errors.go gives; a NodeClaim that is tried again
// asks for the plan it asked for before, so that capacity on its way is used and nothing is bought
// twice; nothing is made from a LinodeNodeClass that is not Ready.
//
// Not guaranteed: that Create succeeds within one call. It waits up to the configured deadline, then
// returns an error that core repeats; the capacity it caused stays and is found by the next attempt.
//
// Used by cmd/controller and by Karpenter core, concurrently. All methods are safe for that.
package cloudprovider
