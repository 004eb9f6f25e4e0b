// Package servingcertificates approves the requests of kubelets for serving certificates, in instance mode with the setting for it.
//
// A request of the signer kubernetes.io/kubelet-serving is approved once, if all of this holds:
//
//   - The node itself sends it: system:node:<name> of the group system:nodes.
//   - The signer accepts the subject, the usages and the form of the names.
//   - The node's name is the name of the Linode of a launched NodeClaim, and it is the only DNS name.
//   - The request has at least one address, and the API has each of them for that Linode now.
//
// Package certificates has the rest: every other request stays undecided, with an event and a line in the log.
//
// Cost: one read of the Linode for a request that fulfils the other conditions, and one of its addresses if the first read does not have
// them all, as in a VPC. Not guaranteed: that the sending process runs on that Linode. A credential of the node is enough, as for
// everything that a node does. Package cmd/controller registers it; it runs on the leader only.
package servingcertificates
