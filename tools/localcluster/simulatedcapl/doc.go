// Package simulatedcapl simulates CAPL, Cluster API's infrastructure provider for Linode (github.com/linode/cluster-api-provider-linode,
// read at commit 9d6f3961), for MachineDeployments whose Linodes boot in package simulatedboot.
//
// It is called by package localcluster in clusterapi mode. Linodes are made over HTTP in the simulated account. Behaviour, with its place
// in CAPL:
//
//   - The kinds are LinodeCluster, LinodeMachine and LinodeMachineTemplate of v1alpha2, which serve contract v1beta1 of Cluster API
//     (api/v1alpha2, config/crd/patches/capicontract_in_linodemachines.yaml). crds.yaml has the fields that are used here; all other
//     fields of an object are kept, and have no effect.
//   - A LinodeMachine waits for its Machine's bootstrap data (reconcile in internal/controller/linodemachine_controller.go).
//   - A Linode is made switched off, with the LinodeMachine's name as label, the bootstrap data as user data, a private address, and the
//     LinodeCluster's name as tag (newCreateConfig, fillCreateConfig and getTags in linodemachine_controller_helpers.go). If a Linode has
//     the label already, CAPL takes this Linode instead (createInstance there).
//   - If the API refuses a Linode, the condition PreflightCreated has the API's message in linodego's words. CAPL does not try again after
//     status 400. It tries again a minute after status 429, and 8 s after an error of the server or of the network
//     (reconcilePreflightCreate, retryIfTransient, util.IsRetryableError).
//   - Then CAPL sets the network helper, boots the Linode, and reads its addresses. A step that fails sets its condition, and is tried
//     again after 25 s (reconcilePreflightConfigure, reconcilePreflightBoot, reconcilePreflightReady). CAPL writes spec.providerID only
//     after the last step, or after a step that failed: it patches conditions, status and spec at the end of a pass (reconcile,
//     machineScope.Close).
//   - Ready is set when the Linode runs. CAPL looks every 25 s (reconcileUpdate).
//   - When the Machine is deleted, CAPL deletes the Linode. If this fails, it tries again after 8 s (reconcileDelete).
//   - A LinodeCluster with an endpoint is ready (linodecluster_controller.go).
//
// Not simulated: NodeBalancers and DNS of a LinodeCluster, VPCs, firewalls, placement groups, disks, object storage for large user data,
// credentials of single objects, pauses, the counter of POST requests, webhooks (two of their rules are in crds.yaml), and
// failureReason, which CAPL sets only when a refusal has lasted for 5 minutes.
package simulatedcapl
