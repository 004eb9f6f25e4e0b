// Package kube implements clusterapi.Backend over the Kubernetes API of a management cluster, with contract v1beta2 of Cluster API.
//
// A dynamic client reads objects into structs that have only the used fields. The types of module sigs.k8s.io/cluster-api/api
// would fix the patch release of k8s.io/api and apimachinery for every importer, for twenty fields.
//
// Lists have no resourceVersion, which makes them as new as the request (Kubernetes API concepts, "resourceVersion unset").
// Writes are merge patches, and updates of the scale subresource. Each has the metadata.resourceVersion of the reading, and
// the metadata.uid if Write.UID is set: the API server refuses the write with 409 if the object has changed since.
//
// # Rights
//
// In the one namespace: list machinedeployments, machinesets, machines, machinepools and the infrastructure provider's machines; get its
// templates; patch machinedeployments and machines; update machinedeployments/scale and machinesets/scale.
//
// # Errors
//
// Errors of reads and writes are *claims.Error, by the answer of the API server. RetryAfter is the pause that the API server asks for.
//
//	409                            KindConflict, EffectNone: the caller reads again and decides anew
//	404                            KindNotFound, EffectNone
//	401, 403                       KindForbidden, EffectNone
//	400, 405, 422                  KindInvalid, EffectNone
//	429                            KindRateLimited, EffectNone
//	no answer, or another status   KindUnavailable, EffectUnknown: a write may have had its effect, and the next reading shows it
//
// # Objects that cannot be read
//
// If a field of one object has an unexpected type, Read returns no error, and all other objects are complete. The object itself has
// only its metadata, and the problem in a field:
//
//	MachineDeployment    Refusal, so it is not used
//	MachineSet           Observed is false, so its count is not trusted
//	Machine              Pending
//
// If the infrastructure provider's machines cannot be read, for example because the provider is not installed, Pending of the Machines
// that wait has the problem. A list that fails, or metadata that cannot be decoded, is an error of Read.
//
// # Machines that cannot be made
//
// A Machine without a provider ID waits, and Pending has the reason. A Machine has a Failure if it certainly cannot be made. Two things
// must be true. First, the Machine or the infrastructure provider's machine has a condition with status False and a message. Second, one of
// these is true as well:
//
//   - the message contains "[400]", with which linodego begins a refusal of the Linode API, and not "Linode busy.";
//   - the phase of the Machine is Failed.
//
// Words in the message choose the kind of the Failure: first quotaWords for KindQuotaExceeded, then capacityWords for
// KindInsufficientCapacity, otherwise KindInvalid. To add a word, change these lists in failure.go, and the same lists in package
// refusal of module linode.
package kube
