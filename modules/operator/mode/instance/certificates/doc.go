// Package certificates approves certificate requests of kubelets, in instance mode: NewClient their first client certificate, NewServing
// their serving certificates, where a setting enables it.
//
// A request is approved once, when the rules of its signer have nothing against it. Every other request is left as it is, for another
// approver or an administrator: none is ever denied. An event on the request and a line in the log have the reason. The approver looks
// again at what time may cure, such as a NodeClaim whose launch is not recorded yet, until a kubelet gives its request up.
//
// A client certificate (signer kubernetes.io/kube-apiserver-client-kubelet): Kubernetes' own approver gives a bootstrap token a certificate
// for any node name, because it checks the right to request and not the name. Here all of this must hold: a bootstrap token sends the
// request whose ID is the one of a NodeClaim, in the group of the operator's tokens; the subject is system:node:<name> of system:nodes, with
// the Linode label of that same NodeClaim as the name and no other name; the usages are those of a client certificate; the NodeClaim is
// neither registered nor being deleted; no Node of that name is older than the NodeClaim, which would be another machine's. A node that is
// registered renews its certificate with the one that it has, which Kubernetes' approver compares. It costs no request to the Linode API.
//
// A serving certificate (signer kubernetes.io/kubelet-serving): the node itself sends the request (system:node:<name> of the group
// system:nodes); the subject, the usages and the form of the names are those that the signer takes; the node's name is that of the Linode of
// a launched NodeClaim; the one DNS name is that name; there is at least one address, and all are that Linode's, as the API has them at that
// moment. It costs one read of the Linode for a request that holds otherwise, and one of its addresses where the first does not have them
// all, which is so in a VPC.
//
// Not guaranteed: that the sending process runs on that Linode. Who holds the token within its 15 minutes, or a credential of the node, may
// be that node. Approvers run on the leader only.
package certificates
