// Package bootstraptoken issues one bootstrap token for each NodeClaim of instance mode, and revokes it.
//
// A token is a Secret bootstrap-token-<id> in kube-system, in the format of Kubernetes' bootstrap token authenticator. It authenticates
// as the group system:bootstrappers:karpenter. It also signs the ConfigMap cluster-info, without which kubeadm refuses to discover the
// cluster. It expires 15 minutes after its NodeClaim was created, when Karpenter core gives up waiting for the node.
//
// The package reads no Secret: a right to read Secrets of kube-system is a right to be any service account of the cluster. The ID is a
// hash of the NodeClaim's UID. The secret half is an HMAC of the UID, under a key that is derived from the operator's API token. So a
// restarted process computes the same token again, with which a Linode may already have booted. One case fails: if the API token is
// replaced and the operator restarts between the creation of a token and the boot of its Linode, that Linode does not join.
//
// A token goes when its node has registered or its NodeClaim is gone. Controller then calls Revoke. The NodeClaim owns the Secret, so
// Kubernetes' garbage collector removes a Secret that a killed operator has left, and Kubernetes' token cleaner removes an expired one.
// The chart's admission policy limits the operator's account to Secrets of this form.
//
// The token's text appears in no log, error or event. Errors come from the API server, or describe a Secret by name. The package is safe
// for concurrent use; core calls Create for one NodeClaim in one goroutine at a time.
//
// Issue returns an error for a NodeClaim without a UID, and for a NodeClaim whose token would expire within two minutes. Karpenter
// replaces such a NodeClaim.
package bootstraptoken
