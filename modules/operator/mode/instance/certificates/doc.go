// Package certificates approves certificate requests of kubelets in instance mode: NewClient approves their first client certificate, and
// NewServing their serving certificates, where a setting enables it.
//
// A request that fulfils the rules of its signer is approved once. Every other request stays undecided, for another approver or an
// administrator: the package never denies one. An event on the request and a line in the log contain the objection. An objection that
// time may remove, such as a NodeClaim whose launch is not recorded yet, is checked again until a kubelet gives its request up.
//
// # A first client certificate
//
// Kubernetes' own approver would give a bootstrap token a certificate for any node name: it checks the right to request, but not the
// name. This package approves a request of the signer kubernetes.io/kube-apiserver-client-kubelet if all of these conditions are true:
//
//   - A bootstrap token in the group of the operator's tokens sends it, and the token's ID belongs to a NodeClaim.
//   - The subject is system:node:<name> of system:nodes, and the name is the Linode label of that same NodeClaim.
//   - The usages fit a client certificate.
//   - The NodeClaim is neither registered nor being deleted.
//   - No Node of that name is older than the NodeClaim. An older Node would belong to another machine.
//
// A registered node renews its certificate with its present certificate, and Kubernetes' own approver approves that. The package makes no
// request to the Linode API for client certificates.
//
// # A serving certificate
//
// The package approves a request of the signer kubernetes.io/kubelet-serving if all of these conditions are true:
//
//   - The node itself sends it: system:node:<name> of the group system:nodes.
//   - The signer accepts the subject, the usages and the form of the names.
//   - The node's name is the name of the Linode of a launched NodeClaim, and it is the only DNS name.
//   - The request has at least one address, and the Linode API lists each address for that Linode now.
//
// A request that meets the other conditions costs one read of the Linode. If that read lacks an address, as in a VPC, the request costs
// one more read, of the Linode's addresses.
//
// # Not guaranteed
//
// The package does not prove that the sending process runs on that Linode: a process with the bootstrap token during its 15 minutes, or
// with a credential of the node, can act as the node. Approvers run on the leader only.
//
// An objection that time may remove is checked again after 5 seconds, then after pauses that grow, until the request is 15 minutes old.
// The same objection is reported once in 25 hours for a request. The events are ClientCertificateNotApproved and
// ServingCertificateNotApproved.
//
// A request has at most 600 characters of its objection in an event. A request that the last read of the Linode does not satisfy costs one
// read a minute.
//
// Approvals have the reason KarpenterNode.
package certificates
