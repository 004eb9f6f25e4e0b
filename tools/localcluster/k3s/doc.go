// Package k3s has the documented registration of agents of k3s and RKE2: the server's part, for the local cluster's own
// control plane, and the agent's part.
//
// It is called by package localcluster, which serves a [Server] in instance mode, and by package simulatedboot, whose Linodes
// register when their agent's service is started. The projects' binaries are not available here; the package follows
// their documentation and sources:
//
//   - A token is K10<hash>::<user>:<password>, or a password alone. /cacerts returns the certificate authority without
//     authentication. Before the agent sends the password, it compares the authority with the token's hash. An agent whose
//     token has no hash trusts the returned authority.
//   - Requests for an agent go to /v1-k3s/ or /v1-rke2/, with the user node and the agent token as basic authentication:
//     config, client-ca.crt, server-ca.crt, and, with a certificate request as body, serving-kubelet.crt and
//     client-kubelet.crt.
//   - The certificate requests carry the node's name and password. The first password of a name is kept as a hash
//     in the Secret <name>.node-password.k3s in kube-system. The server refuses any other password with 403.
//
// # Differences from k3s and RKE2
//
// There is one certificate authority for clients and servers. The Secret of a node's password stays when its Node is deleted.
// Missing parts are the node's addresses in a certificate request, tokens of kubeadm's form, the tunnel to the server, the
// agent's own load balancer, its containerd, flannel and kube-proxy.
//
// A [Server] is safe for concurrent use; [Join] is one agent's start.
//
// A request may take ten seconds and its body 64 KiB. Errors of Join have the words that the projects' agents print.
package k3s
