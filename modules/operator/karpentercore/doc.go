// Package karpentercore is the one place for what the operator needs from Karpenter core beyond its API: the manager that core's
// controllers run in, and the work-arounds for core v1.15.0. Each of them names the line of core that makes it necessary and the
// test that fails when core no longer needs it.
//
// An operator with these parts differs from core's own in what a user may notice:
//
//	a line of the log           above 16 KiB it keeps its first 7 KiB and its length
//	a profile (pprof)           is served to loopback addresses only, and 403 to others
//	a replacement for spot      is made for on-demand (OnDemand)
//	a static NodePool           makes no NodeClaim while its last one got no node (Held)
//	a Node of another name      than its NodeClaim's is not registered: event NodeRefused on the NodeClaim (Named)
//	a quantity above 10^15      counts as 10^15 (package quantity)
//	a pod with a successor      that is on its way is not evicted yet (Evicting, package surge)
//	/readyz                     fails until the caches are filled and core's two definitions are served
//
// NewOperator returns ErrNoNamespace in a process outside of a pod without LEADER_ELECTION_NAMESPACE; NewReplan returns ErrNoPlanner if
// core has lost the controller that plans. Both end the start of the operator.
//
// Built here, from core's exported parts, because core's operator.NewOperator offers no option for them:
//
//   - NewOperator, as core's (pkg/operator/operator.go:138), but with errors where core panics, listen addresses, the elector's lock and
//     the cache's options as parameters. TestTheManagerHasTheOptionsOfCore reads core's source and fails when core sets an option,
//     a readiness check or an index that is missing here.
//   - Index, core's unexported setupIndexers (pkg/operator/operator.go:287): TestTheIndexesAreThoseOfCore.
//   - CacheOptions keeps managed fields, the images of Nodes and the contents of pods (variables, commands, mounts, probes, volumes
//     without claims) out of the cache: core copies all Nodes, NodeClaims and many Pods several times in every round of consolidation
//     (pkg/controllers/state/cluster.go, DeepCopyNodes). TestCoreReadsNothingOfAPodThatTheCacheLeavesOut.
//
// Work-arounds:
//
//   - OnDemand: core narrows replacements to spot capacity, which does not exist at Linode
//     (pkg/controllers/disruption/consolidation.go:241, "We are consolidating a node from OD -> [OD,Spot]"). TestCoreStillNarrowsToSpot.
//     Not cured: what core estimates before that takes the whole price for saved (pkg/controllers/disruption/types.go:407), unless the
//     NodePool names the capacity type; docs/consolidation.md has the requirement.
//   - Held: core makes NodeClaims of static NodePools without reading what can be bought
//     (pkg/controllers/static/provisioning/controller.go:118, no GetInstanceTypes), and plans nothing while one of them has no provider
//     ID (pkg/controllers/state/cluster.go:192). TestCoreStillNeedsTheProvidersAnswers.
//   - Named: core registers whichever Node has the NodeClaim's provider ID, which a kubelet sets itself
//     (pkg/utils/nodeclaim/nodeclaim.go:299). TestCoreStillRegistersByProviderIDAlone.
//   - Replan: core records the nodes that hold a CapacityBuffer's pods in its planning passes alone
//     (pkg/controllers/provisioning/provisioner.go:166), which come every 30 s where no pod waits
//     (pkg/controllers/capacitybuffer/controller.go:137), and deletes as empty what became ready between two of them
//     (pkg/controllers/disruption/emptiness.go:54). TestCoreStillNeedsTheProvidersAnswers.
//   - Evicting: core has no hook before it evicts a pod, and drops one that the API server answers with a conflict from its queue, to which
//     the termination controller adds it again (pkg/controllers/node/termination/terminator/eviction.go:291). TestCoreStillQueuesAPodAgain.
//   - Labelled: core's legacy repair (settings.legacyNodeRepair) passes over a Node that was broken before it got the label of its class,
//     as Nodes of LKE do when they register (pkg/controllers/node/legacyrepair/controller.go:110), until a condition changes or the
//     operator starts again. By its release notes v1.15.1 mends it (kubernetes-sigs/karpenter#3446), but the module proxy refuses that
//     version. TestCoreStillMissesANodeThatGetsItsLabel. The other repair reads the cluster state, for which each event of a Node counts:
//     TestANodeThatIsNotReadyIsFoundWheneverItGetsItsLabels has both.
//   - withoutStarts: controller-runtime v0.24.1 logs three lines for each controller at level info
//     (pkg/internal/controller/controller.go:247, 302, 305). TestControllerRuntimeStillWritesTheseLines.
//
// Answers of package cloudprovider that are as they are because of core; TestCoreStillNeedsTheProvidersAnswers has each of these lines:
//
//   - The message of a launch under way counts the attempts: core repeats a launch soon when the NodeClaim's status has changed, and
//     otherwise after growing pauses (pkg/controllers/nodeclaim/lifecycle/controller.go:191).
//   - A plan that cannot be bought stays in the list, unavailable: core replaces the nodes of a type that is not in it
//     (pkg/controllers/nodeclaim/disruption/drift.go:134).
//   - A NodePool without its LinodeNodeClass gets all plans, unavailable: for an error core logs a line in each of its rounds
//     (pkg/controllers/provisioning/provisioner.go:312).
//
// Looked at and not usable: controllers.WithRegistrationHook (pkg/controllers/controllers.go:94). The hook is called after core has
// written the error and the event about a missing taint karpenter.sh/unregistered (pkg/controllers/nodeclaim/lifecycle/registration.go:85),
// and can only delay the registration, which here would keep pods away from a node that is ready for them.
//
// Called by cmd/controller. It reads no flags and no environment, and must not import the provider's own packages.
package karpentercore
