// Package bootstrap renders the user data with which a Linode joins a
// self-managed Kubernetes cluster: cloud-config for [Kubeadm], [K3s] and [RKE2], a
// machine config for [Talos], and a user's own text with variables for [Custom].
// It makes no request and needs no Kubernetes client.
//
// # Nothing is pasted
//
// User data is a tree of values that a YAML library writes. Scripts are constant:
// each value that differs from node to node is in a file of its own, and each argument
// stays one argument. A name, label, token or version therefore
// never becomes a part of a command or of the document's structure. In addition,
// values are checked before, because kubelet and kubeadm have formats of their
// own: an [Error] names the field, and never has a secret in its text.
//
// [Custom] substitutes variables in the scalars of a parsed document, and quotes
// them where they stand in a shell command; see its doc.
//
// # The contract with the operator
//
// Whatever the distribution, the node has the name that it was given, the labels
// that a kubelet may set itself ([SelfLabels] returns which), all taints from the
// start, an external cloud provider, and the kubelet settings its allocatable
// was computed from. Golden files in testdata show all of it.
//
// # A further type
//
// A [Type] is a row of traits with a renderer, in one file of its own. [Types] returns
// the row, and callers decide by its traits. In addition to that file a type needs its
// name in the schema of LinodeNodeClass (nodeclass/v1alpha1, bootstrap.go) and a
// simulated boot (tools/localcluster/simulatedboot).
//
// # The second boot
//
// A Linode reads user data only at its first boot. So settings that a node needs at
// each boot are in files that systemd reads, and in units that are enabled or
// masked.
//
// # Secrets
//
// The token is in the user data, which every process on the node can read from the
// Metadata service until that service is blocked for pods. kubeadm's token should be
// for one node and short-lived; the file that holds it is removed after the join. The
// token of k3s and RKE2 is the cluster's own.
//
// # Errors
//
// An *Error names the field of Config or the variable, and the value unless it is secret. Custom
// refuses a variable in a key, an unknown variable of the operator's form, and a variable in a
// place where it cannot be quoted; it leaves texts that are no variables of the operator alone. All
// functions are pure and safe for concurrent use; package mode/instance of the operator calls them
// for each launch, and once for the check of a class.
package bootstrap
