// Package certificates decides on certificate requests of nodes for one signer of Kubernetes, with the judgement of a caller.
//
// A request is approved once, when the judgement has nothing against it. Every other request is left as it is, for another approver or an
// administrator: none is ever denied. An event on the request and a line in the log have the reason. What time may cure, such as a
// NodeClaim whose launch is not recorded yet, is looked at again until a kubelet gives its request up.
//
// Packages servingcertificates and clientcertificates have the judgements. Controllers run on the leader only.
package certificates
