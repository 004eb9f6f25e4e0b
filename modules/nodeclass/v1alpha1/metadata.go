package v1alpha1

// Annotations of LinodeNodeClass and NodeClaim.
const (
	// AnnotationHash holds Hash() of the LinodeNodeClass. On the class it is the present hash, on a NodeClaim the hash at the time when
	// its Linode was made. They differ when the Linode has drifted.
	AnnotationHash = Group + "/linodenodeclass-hash"
	// AnnotationHashVersion holds the HashVersion that AnnotationHash was computed with. Hashes of different versions say nothing about
	// drift: the operator rewrites the hash and replaces no node.
	AnnotationHashVersion = Group + "/linodenodeclass-hash-version"
	// AnnotationLastAppliedUserTags is on a NodeClaim: the tags of the LinodeNodeClass that were last written to its Linode, as a JSON
	// list. When the class's tags change, the operator replaces only the tags in this list.
	AnnotationLastAppliedUserTags = Group + "/last-applied-user-tags"
	// AnnotationKubernetesVersion is on a NodeClaim of a class that follows the control plane: the version that the control plane
	// had when its Linode was made. The image may have another.
	AnnotationKubernetesVersion = Group + "/kubernetes-version"
)

// Finalizer keeps a LinodeNodeClass until no NodeClaim uses it.
const Finalizer = Group + "/termination"

// ProviderIDPrefix comes before the Linode's ID in a node's spec.providerID: linode://<instance id>.
const ProviderIDPrefix = "linode://"
