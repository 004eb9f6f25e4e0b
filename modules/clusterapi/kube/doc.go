// Package kube implements clusterapi.Backend over the Kubernetes API of a management cluster, with contract v1beta2 of Cluster API.
//
// A dynamic client reads objects into structs that have only the used fields. The types of module sigs.k8s.io/cluster-api/api
// would fix the patch release of k8s.io/api and apimachinery for every importer, for twenty fields.
//
// Lists have no resourceVersion, which makes them as new as the request (Kubernetes API concepts, "resourceVersion unset").
// Writes are merge patches with metadata.uid and metadata.resourceVersion, and updates of the scale subresource with both:
// the API server refuses them with 409 if the object has changed.
//
// # Rights
//
// In the one namespace: list machinedeployments, machinesets, machines, machinepools and the infrastructure provider's machines; get its
// templates; patch machinedeployments and machines; update machinedeployments/scale and machinesets/scale.
//
// # Errors
//
// A failed precondition, or a 409 of the scale subresource, is KindConflict with EffectNone: the caller reads
// again and decides anew. A read that fails as a whole is an error. A detail of one object that cannot be read,
// such as the machine of an unknown infrastructure provider, is missing in the result, and all other details are
// there. Each object has the resourceVersion with which the API server returned it.
package kube
