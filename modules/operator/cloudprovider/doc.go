// Package cloudprovider is Karpenter's CloudProvider for Linode, the same in every mode.
//
// It stands between Karpenter core, which has NodeClaims, and a Backend, which makes nodes: Create picks the cheapest plan that meets a
// NodeClaim and claims a node of it, Delete releases that node, Get and List return which nodes are claimed, IsDrifted compares a node with
// one that would be made now. Packages mode/lke and mode/instance have the Backends.
//
// Guarantees: an instance is reported as not found only when the Linode API has proven it; every error of a Backend reaches core as the
// type that package launches gives; a NodeClaim that is tried again gets the plan of its first attempt, so that capacity on its way
// is used and nothing is bought twice; nothing is made from a LinodeNodeClass that is not Ready.
//
// Not guaranteed: that Create succeeds within one call. It waits up to Config.CreateDeadline, 10 seconds, then returns an error that core
// repeats; the capacity it caused stays and is found by the next attempt.
//
// Used by cmd/controller and by Karpenter core, concurrently. All methods are safe for that.
//
// Figures: the last list of nodes serves questions for a minute. A node must be an hour old before an older kubelet version counts as
// drift. The same event is published once in 30 minutes, the event about plans without a price once in six hours. A NodeClaim that is
// deleted more than 14 minutes after its launch without a node counts as never joined. Repair waits for ten minutes, unless the setting
// has another time.
//
// A NodeClaim without a provider ID is deleted by its name: the instance that carries its claim is released. Drift that the last list
// suggests is confirmed by a read of the instance, once in an hour for the same reason.
package cloudprovider
