// Package bootstraptoken issues one bootstrap token for each NodeClaim of instance mode, and takes it back.
//
// A token is a Secret bootstrap-token-<id> in kube-system, in the format of Kubernetes' bootstrap token authenticator. It authenticates as
// group system:bootstrappers:karpenter, signs the ConfigMap cluster-info, without which kubeadm refuses to discover the cluster
// with it, and expires when Karpenter core gives up waiting for the node. The ID is a function of the NodeClaim's UID, so a process that
// was restarted finds the token that a Linode may have booted with already, and no right to list Secrets is needed.
//
// A token goes when its node has registered or its NodeClaim is gone: Controller calls Revoke, and the Secret is owned by the NodeClaim, so
// that Kubernetes' garbage collector removes what a killed operator has left. Kubernetes' token cleaner removes it when it has expired.
//
// The token's text appears in no log, error or event. Errors are the API server's, or describe a Secret by name. Safe for
// concurrent use; core calls Create for one NodeClaim by one goroutine at a time.
package bootstraptoken
