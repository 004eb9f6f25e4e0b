// Package simulatedcapl simulates CAPL, Cluster API's infrastructure provider for Linode (github.com/linode/cluster-api-provider-linode,
// read at commit 9d6f3961), for MachineDeployments whose Linodes boot in package simulatedboot.
//
// It is called by package localcluster in clusterapi mode. Linodes are made over HTTP in the simulated account. Behaviour, and where it is
// in CAPL:
//
//   - The kinds are LinodeCluster, LinodeMachine and LinodeMachineTemplate of v1alpha2, which serve contract v1beta1 of Cluster API
//     (api/v1alpha2, config/crd/patches/capicontract_in_linodemachines.yaml). crds.yaml has the fields that are used here; what else an
//     object has is kept and has no effect.
//   - A LinodeMachine waits until its Machine's bootstrap data is there (reconcile in internal/controller/linodemachine_controller.go).
//   - A Linode is made switched off, with the LinodeMachine's name as label, the bootstrap data as user data, a private address, and the
//     LinodeCluster's name as tag (newCreateConfig, fillCreateConfig and getTags in linodemachine_controller_helpers.go). One that has the
//     label already is taken instead (createInstance there).
//   - A refusal is the message of the condition PreflightCreated, in linodego's words. Status 400 is not tried again; 429 is after a
//     minute, and what the API could not answer after 8 s (reconcilePreflightCreate, retryIfTransient, util.IsRetryableError).
//   - Then the network helper is set, the Linode is booted, and its addresses are read; a step that fails sets its condition and is tried
//     again after 25 s (reconcilePreflightConfigure, reconcilePreflightBoot, reconcilePreflightReady). Only when all of them were done, or
//     one failed, is spec.providerID written: conditions, status and spec are patched when a pass ends (reconcile, machineScope.Close).
//   - Ready is set when the Linode runs, which is looked up every 25 s (reconcileUpdate).
//   - When its Machine goes, the Linode is deleted; while that fails it is tried again after 8 s (reconcileDelete).
//   - A LinodeCluster with an endpoint is ready (linodecluster_controller.go).
//
// Not simulated: NodeBalancers and DNS of a LinodeCluster, VPCs, firewalls, placement groups, disks, object storage for large user data,
// credentials of single objects, pauses, the counter of POST requests, webhooks (two of their rules are in crds.yaml), and
// failureReason, which CAPL sets only when a refusal has lasted for 5 minutes.
package simulatedcapl
