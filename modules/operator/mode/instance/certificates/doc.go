// Package certificates decides on certificate requests of nodes for one signer of Kubernetes. A caller passes the judgement.
//
// A request without objections is approved once. Every other request stays undecided, for another approver or an administrator: the
// package never denies one. An event on the request and a line in the log have the objection. An objection that time may remove, such as
// a NodeClaim whose launch is not recorded yet, is checked again until a kubelet gives its request up.
//
// Packages servingcertificates and clientcertificates have the judgements. Controllers run on the leader only.
package certificates
