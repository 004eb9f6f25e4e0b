// Package v1alpha1 is the API of LinodeNodeClass: group karpenter.k8s.linode, version v1alpha1, cluster scoped.
//
// A NodePool of Karpenter names a LinodeNodeClass in its nodeClassRef; the class defines how a Linode of that
// NodePool is made. The package holds the Go types, the names that users and nodes see (labels, annotations,
// tags, the finalizer), the condition types and reasons, and the hash from which drift is detected.
//
// # Guarantees
//
//   - Importing the package registers the types in client-go's scheme.Scheme, which is the scheme Karpenter's
//     core works with, registers the labels of this provider as well known, and reserves their domain, so that
//     a misspelt label under karpenter.k8s.linode is refused instead of selecting nothing. That happens in
//     init functions, as Karpenter's core expects of a provider; nothing else happens at import.
//   - [LinodeNodeClass.Hash] does not change when a field is added to the type, nor with the order
//     of a list that is a set.
//   - A LinodeNodeClass that the API server accepted satisfies every format rule written on the types here.
//     These rules do not depend on the mode of the controller, the tier of the cluster, or the account.
//
// # Not guaranteed
//
// Acceptance by the API server does not mean that nodes can be made. The cluster may not run the lkeK8sVersion, and the account may not
// have the firewall. An object may also be older than a rule: the API server then still accepts changes of its other fields. Example: a
// tag with a key that the provider manages. Package status of this module checks all three and reports the result in the status.
//
// Units: memory and swap in MiB and disks as Kubernetes quantities, as documented at each field. The package makes no
// calls and returns no errors. The types are plain data: safe for concurrent reads, not for concurrent writes.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.linode
package v1alpha1
