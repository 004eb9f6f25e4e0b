// Package karpentercore has the parts that the operator needs in addition to Karpenter core's API: the manager in which core's controllers
// run, and the work-arounds for core v1.15.0. Each work-around names the line of core that makes it necessary, and the test that fails when
// core no longer needs it.
//
// A user may notice these differences between an operator with these parts and core's own operator:
//
//	a line of the log           above 16 KiB keeps only its first 7 KiB and its length
//	a profile (pprof)           is served to loopback addresses only; other clients get 403
//	a replacement for spot      is made for on-demand (OnDemand)
//	a static NodePool           makes no NodeClaim for a minute after a NodeClaim that got no node (Held)
//	a Node with a wrong name    for its provider ID is not registered: event NodeRefused on the NodeClaim (Named)
//	a quantity above 10^15      counts as 10^15 (package quantity)
//	a pod with a successor      that is on its way is not evicted yet (Evicting, package surge)
//	/readyz                     fails until the caches are filled and the CRDs NodePool and NodeClaim are served
//
// NewOperator returns ErrNoNamespace if the process runs outside of a pod and LEADER_ELECTION_NAMESPACE is not set. NewReplan returns
// ErrNoPlanner if core no longer has a controller that plans. Both errors end the start of the operator.
//
// Built here, from core's exported parts, because core's operator.NewOperator offers no option for them:
//
//   - NewOperator does the same as core's NewOperator (pkg/operator/operator.go:138), but returns errors where core panics, and takes the
//     listen addresses, the elector's lock and the cache's options as parameters. TestTheManagerHasTheOptionsOfCore reads core's source and
//     fails when core sets an option, a readiness check or an index that is missing here.
//   - Index does the same as core's unexported setupIndexers (pkg/operator/operator.go:287). TestTheIndexesAreThoseOfCore.
//   - CacheOptions keeps managed fields, the images of Nodes and the contents of pods (variables, commands, mounts, probes, volumes
//     without claims) out of the cache: core copies all Nodes, NodeClaims and many Pods several times in every round of consolidation
//     (pkg/controllers/state/cluster.go, DeepCopyNodes). TestCoreReadsNothingOfAPodThatTheCacheLeavesOut.
//
// Work-arounds:
//
//   - OnDemand: core narrows replacements to spot capacity, which does not exist at Linode
//     (pkg/controllers/disruption/consolidation.go:241, "We are consolidating a node from OD -> [OD,Spot]"). TestCoreStillNarrowsToSpot.
//     Not solved: before that, core estimates the savings as the whole price of the node (pkg/controllers/disruption/types.go:407), unless
//     the NodePool names the capacity type; docs/consolidation.md has the requirement.
//   - Held: core makes NodeClaims of static NodePools without reading which plans can be bought
//     (pkg/controllers/static/provisioning/controller.go:118, no GetInstanceTypes), and plans no node while one of these NodeClaims has no
//     provider ID (pkg/controllers/state/cluster.go:192). TestCoreStillNeedsTheProvidersAnswers.
//   - Named: core registers any Node with the NodeClaim's provider ID, and a kubelet sets the provider ID of its own Node
//     (pkg/utils/nodeclaim/nodeclaim.go:299). TestCoreStillRegistersByProviderIDAlone.
//   - Replan: only in its planning passes, core records the nodes that hold a CapacityBuffer's pods
//     (pkg/controllers/provisioning/provisioner.go:166). If no pod waits, a pass comes every 30 s
//     (pkg/controllers/capacitybuffer/controller.go:137), and core deletes a node that became ready between two passes as empty
//     (pkg/controllers/disruption/emptiness.go:54). TestCoreStillNeedsTheProvidersAnswers.
//   - Evicting: core has no hook before it evicts a pod. If the API server answers an eviction with a conflict, core drops the pod from its
//     queue, and the termination controller adds the pod again (pkg/controllers/node/termination/terminator/eviction.go:291).
//     TestCoreStillQueuesAPodAgain.
//   - Labelled: core's legacy repair (settings.legacyNodeRepair) does not see a Node that was broken before it got the label of its class,
//     until a condition of the Node changes or the operator restarts (pkg/controllers/node/legacyrepair/controller.go:110). Nodes of LKE
//     get this label when they register. According to its release notes, v1.15.1 fixes this (kubernetes-sigs/karpenter#3446), but the
//     module proxy refuses this version. TestCoreStillMissesANodeThatGetsItsLabel. The other repair reads the cluster state, which takes
//     every event of a Node: TestANodeThatIsNotReadyIsFoundWheneverItGetsItsLabels has both.
//   - withoutStarts: controller-runtime v0.24.1 logs three lines for each controller at level info
//     (pkg/internal/controller/controller.go:247, 302, 305). TestControllerRuntimeStillWritesTheseLines.
//
// Core is also the reason for these answers of package cloudprovider; TestCoreStillNeedsTheProvidersAnswers has each of the lines:
//
//   - The message of a launch under way counts the attempts: core repeats a launch soon if the NodeClaim's status has changed, and
//     otherwise after growing pauses (pkg/controllers/nodeclaim/lifecycle/controller.go:191).
//   - A plan that cannot be bought stays in the list, unavailable: core replaces the nodes of a type that the list lacks
//     (pkg/controllers/nodeclaim/disruption/drift.go:134).
//   - A NodePool without its LinodeNodeClass gets all plans, unavailable: after an error core would log a line in each of its rounds
//     (pkg/controllers/provisioning/provisioner.go:312).
//
// Considered and not usable: controllers.WithRegistrationHook (pkg/controllers/controllers.go:94). Core calls the hook after it has
// written the error and the event about a missing taint karpenter.sh/unregistered (pkg/controllers/nodeclaim/lifecycle/registration.go:85).
// The hook can only delay the registration, which here would keep pods away from a node that is ready for them.
//
// Package cmd/controller uses it. It reads no flags and no environment, and must not import packages of the provider except quantity.
package karpentercore
