// Package v1alpha1 is the API of LinodeNodeClass: group karpenter.k8s.linode, version v1alpha1, cluster scoped.
//
// A NodePool of Karpenter names a LinodeNodeClass in its nodeClassRef; the class says how a Linode of that
// NodePool is made. The package holds the Go types, the names that users and nodes see (labels, annotations,
// tags, the finalizer), the condition types and reasons, and the hash from which drift is told.
//
// # Guarantees
//
//   - Importing the package registers the types in client-go's scheme.Scheme, which is the scheme Karpenter's
//     core works with, registers the labels of this provider as well known, and reserves their domain, so that
//     a misspelt label under karpenter.k8s.linode is refused instead of selecting nothing. That happens in
//     init functions, as Karpenter's core expects of a provider; nothing else happens at import.
//   - [LinodeNodeClass.Hash] does not change when a field is added to the type, nor with the order of a list.
//   - A LinodeNodeClass that the API server accepted satisfies every format rule written on the types here.
//     These rules do not depend on the mode of the controller, the tier of the cluster, or the account.
//
// # Not guaranteed
//
// Acceptance by the API server does not mean that nodes can be made. Tags with a key that the provider manages
// are accepted, because an object may be older than the rule that refuses it, and because a refusal in the
// status reaches whoever looks at the object; so is an lkeK8sVersion that the cluster does not run. Package
// status of this module evaluates both, and everything that must be asked of the Linode API.
//
// Units: memory and swap in MiB and disks as Kubernetes quantities, as each field says. The package makes no
// calls and returns no errors. The types are plain data: safe for concurrent reads, not for concurrent writes.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.linode
package v1alpha1
