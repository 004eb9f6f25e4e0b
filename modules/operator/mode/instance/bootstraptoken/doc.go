// Package bootstraptoken issues one bootstrap token for each NodeClaim of instance mode, and takes it back.
//
// A token is a Secret bootstrap-token-<id> in kube-system, in the format of Kubernetes' bootstrap token authenticator. It authenticates as
// group system:bootstrappers:karpenter, signs the ConfigMap cluster-info, without which kubeadm refuses to discover the cluster
// with it, and expires 15 minutes after its NodeClaim was created, when Karpenter core gives up waiting for the node.
//
// Nothing is read: a right to read Secrets of kube-system is a right to be any service account of the cluster. The ID is a hash of the
// NodeClaim's UID, and the secret half an HMAC of it under a key that is derived from the operator's API token, so a process that was
// restarted computes the token that a Linode may have booted with already. An API token that is replaced, and a restart, between the
// creation of a token and the boot of its Linode make that one Linode fail to join.
//
// A token goes when its node has registered or its NodeClaim is gone: Controller calls Revoke, and the Secret is owned by the NodeClaim, so
// that Kubernetes' garbage collector removes what a killed operator has left. Kubernetes' token cleaner removes it when it has expired.
// The chart's admission policy keeps the operator's account to Secrets of this form.
//
// The token's text appears in no log, error or event. Errors are the API server's, or describe a Secret by name. Safe for
// concurrent use; core calls Create for one NodeClaim by one goroutine at a time.
package bootstraptoken
