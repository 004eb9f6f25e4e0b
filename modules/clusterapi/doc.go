// Package clusterapi gives each claimant exactly one Machine of Cluster API: it claims a free
// Machine of a MachineDeployment, or raises the deployment's replicas and claims the Machine that
// appears. It is the engine of Karpenter's clusterapi mode.
//
// # Names
//
// On a MachineDeployment, set by its owner:
//
//	label       karpenter.k8s.linode/enabled: "true"      opts in; a MachineDeployment without it is neither used nor changed
//	annotation  karpenter.k8s.linode/hourly-price: "0.05" price in USD of one Machine, instead of the price in the catalogue
//	spec.rollout.strategy.type: OnDelete                  required; a new template is drift, which Karpenter replaces under budgets
//
// On a Machine, written by this package:
//
//	annotation  karpenter.k8s.linode/claim: <NodeClaim>/<UID>      the claim, the only durable record
//	annotation  cluster.x-k8s.io/delete-machine                    Cluster API's own: this Machine goes first when replicas is lowered
//
// Settings of the operator (environment, flag, chart value):
//
//	KARPENTER_MODE=clusterapi   --mode                   settings.mode
//	CLUSTER_NAME                --cluster-name           settings.clusterName: the name of the Cluster object
//	CLUSTERAPI_NAMESPACE        --clusterapi-namespace   settings.clusterAPI.namespace: of the Cluster and its MachineDeployments
//	CLUSTERAPI_KUBECONFIG       --clusterapi-kubeconfig  settings.clusterAPI.kubeconfigSecret: of the management cluster;
//	                                                     not set: the cluster manages itself
//
// A LinodeNodeClass selects deployments by spec.machineDeploymentSelector, a label selector; absent, it
// selects every deployment of the cluster that has opted in.
//
// # Defaults and errors
//
// ReadInterval is one second, OrphanTTL five minutes, StuckTimeout two minutes, CacheLag two seconds.
// Errors are *claims.Error. The package only declares types; allocator runs the engine, kube is the
// Backend.
package clusterapi
