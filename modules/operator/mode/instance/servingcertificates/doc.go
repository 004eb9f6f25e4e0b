// Package servingcertificates approves the requests of kubelets for serving certificates, in instance mode and where a setting enables it.
//
// A request is approved once, if its signer is kubernetes.io/kubelet-serving and all of this holds: the node itself sends it
// (system:node:<name> of the group system:nodes); the subject, the usages and the form of the names are accepted by the signer; the
// node's name is that of the Linode of a launched NodeClaim; the one DNS name is that name; there is at least one address, and all are
// that Linode's, as the API has them at that moment.
//
// Every other request is left as it is, for another approver or an administrator: none is ever denied. An event on the request and a line
// in the log have the reason. What time may cure, such as a NodeClaim whose launch is not recorded yet, is looked at again until a kubelet
// gives its request up.
//
// Cost: one read of the Linode for a request that holds otherwise, and one of its addresses where the first does not have them
// all, which is so in a VPC. Not guaranteed: that the sending process runs on that Linode. A credential of a node is enough, as for all
// that a node does. Registered by cmd/controller; it runs on the leader only.
package servingcertificates
