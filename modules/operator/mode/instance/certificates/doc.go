// Package certificates approves certificate requests of kubelets in instance mode: NewClient approves their first client certificate, and
// NewServing their serving certificates, where a setting enables it.
//
// A request that fulfils the rules of its signer is approved once. Every other request stays undecided, for another approver or an
// administrator: the package never denies one. An event on the request and a line in the log have the objection. An objection that time
// may remove, such as a NodeClaim whose launch is not recorded yet, is checked again until a kubelet gives its request up.
//
// # A first client certificate
//
// Kubernetes' own approver gives a bootstrap token a certificate for any node name: it checks the right to request, and not the name. A
// request of the signer kubernetes.io/kube-apiserver-client-kubelet is approved here if all of this holds:
//
//   - A bootstrap token in the group of the operator's tokens sends it, and the token's ID belongs to a NodeClaim.
//   - The subject is system:node:<name> of system:nodes, and the name is the Linode label of that same NodeClaim.
//   - The usages fit a client certificate.
//   - The NodeClaim is neither registered nor being deleted.
//   - No Node of that name is older than the NodeClaim: it would be another machine's.
//
// A registered node renews its certificate with the present one, which Kubernetes' approver compares. No request to the Linode API is
// made.
//
// # A serving certificate
//
// A request of the signer kubernetes.io/kubelet-serving is approved if all of this holds:
//
//   - The node itself sends it: system:node:<name> of the group system:nodes.
//   - The signer accepts the subject, the usages and the form of the names.
//   - The node's name is the name of the Linode of a launched NodeClaim, and it is the only DNS name.
//   - The request has at least one address, and the API has each of them for that Linode now.
//
// It costs one read of the Linode for a request that fulfils the other conditions, and one of its addresses if the first read does not
// have them all, as in a VPC.
//
// # Not guaranteed
//
// That the sending process runs on that Linode: a process with the token within its 15 minutes, or with a credential of the node, can be
// that node. Approvers run on the leader only.
//
// An objection that time may remove is checked again after 5 seconds, then after pauses that grow, until the request is 15 minutes old.
// The same objection is reported once in 25 hours for a request. The events are ClientCertificateNotApproved and
// ServingCertificateNotApproved.
//
// A request has at most 600 characters of its objection in an event. A request that the last read of the Linode does not satisfy costs one
// read a minute.
//
// The approval that it writes has the reason KarpenterNode.
package certificates
