// Package k3s is the documented registration of agents of k3s and RKE2: a server's part of it, over the local cluster's own
// control plane, and an agent's.
//
// It is called by package localcluster, which serves a [Server] in instance mode, and by package simulatedboot, whose Linodes
// register when their agent's service is started. It exists because the projects' binaries cannot be had here, and follows
// their documentation and sources:
//
//   - A token is K10<hash>::<user>:<password>, or a password alone. With the hash the agent compares the certificate
//     authority that /cacerts returns without authentication, before it sends the password; without it, it trusts that answer.
//   - Requests for an agent go to /v1-k3s/ or /v1-rke2/, with the user node and the agent token as basic authentication:
//     config, client-ca.crt, server-ca.crt, and, with a certificate request as body, serving-kubelet.crt and
//     client-kubelet.crt.
//   - The certificate requests carry the node's name and password. The first password of a name is kept as a hash
//     in the Secret <name>.node-password.k3s in kube-system; another one is refused with 403.
//
// # Differences from k3s and RKE2
//
// There is one certificate authority for clients and servers. The Secret of a node's password stays when its Node is deleted.
// Addresses of the node in a certificate request, tokens of kubeadm's form, the tunnel to the server, the agent's own load
// balancer, its containerd, flannel and kube-proxy are not here.
//
// A [Server] is safe for concurrent use; [Join] is one agent's start.
//
// A request may take ten seconds and its body 64 KiB. Errors of Join have the words that the projects' agents print.
package k3s
