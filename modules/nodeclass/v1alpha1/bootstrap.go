package v1alpha1

// BootstrapType is how a Linode joins the cluster.
//
// +kubebuilder:validation:Enum={kubeadm,k3s,rke2,talos,custom}
type BootstrapType string

// Values of BootstrapType.
const (
	BootstrapKubeadm BootstrapType = "kubeadm"
	BootstrapK3s     BootstrapType = "k3s"
	BootstrapRKE2    BootstrapType = "rke2"
	BootstrapTalos   BootstrapType = "talos"
	BootstrapCustom  BootstrapType = "custom"
)

// ClusterMinor is the value of Bootstrap.KubernetesVersion with which a class follows the control plane.
const ClusterMinor = "ClusterMinor"

// Bootstrap is how Linodes join the cluster (instance mode).
//
// +kubebuilder:validation:XValidation:rule="!has(self.kubernetesVersion) || self.kubernetesVersion != 'ClusterMinor' || !has(self.type) || !(self.type in ['k3s', 'rke2'])",message="kubernetesVersion: ClusterMinor is for kubeadm, talos and custom; nodes of k3s and rke2 follow the control plane without kubernetesVersion, remove it",fieldPath=".kubernetesVersion"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['k3s', 'rke2']) || has(self.tokenSecretRef)",message="k3s and rke2 need tokenSecretRef, the Secret with the cluster's agent token",fieldPath=".tokenSecretRef",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecretRef) || has(self.type) && self.type in ['k3s', 'rke2', 'custom']",message="tokenSecretRef is for k3s, rke2 and custom: a node of kubeadm gets a token of its own, a machine config of talos contains one",fieldPath=".tokenSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['talos', 'custom']) || has(self.userDataSecretRef)",message="talos and custom need userDataSecretRef, the Secret with the machine config or the user data",fieldPath=".userDataSecretRef",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.userDataSecretRef) || has(self.type) && self.type in ['talos', 'custom']",message="userDataSecretRef is for talos and custom",fieldPath=".userDataSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['talos', 'custom']) || !has(self.preJoinCommands) && !has(self.postJoinCommands)",message="preJoinCommands and postJoinCommands are for kubeadm, k3s and rke2; put the commands into the user data",fieldPath=".preJoinCommands"
// +kubebuilder:validation:XValidation:rule="!has(self.installerURL) || has(self.type) && self.type in ['k3s', 'rke2']",message="installerURL is for k3s and rke2",fieldPath=".installerURL"
type Bootstrap struct {
	// Type is how nodes join: kubeadm, k3s, rke2, talos (machine config) or custom (your own cloud-init or Ignition).
	// Default: kubeadm.
	// +optional
	Type BootstrapType `json:"type,omitempty"`
	// KubernetesVersion of the nodes, not newer than the API server. Default: the API server's version. k3s and rke2 install this
	// version. With kubeadm and talos the image determines the version. Custom user data gets this version as a variable. With
	// ClusterMinor (kubeadm, talos, custom) a node is replaced if its kubelet has an earlier minor version than the API server and new
	// nodes get a later one from the image. Example: v1.35.2.
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:XValidation:rule=`self == 'ClusterMinor' || self.matches(r'^v1\.[0-9]{1,3}\.[0-9]{1,3}([-+][A-Za-z0-9.+-]{1,32})?$')`,message="kubernetesVersion must be ClusterMinor, or look like v1.35.2, v1.35.2+k3s1 or v1.35.2+rke2r1"
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// APIServerEndpoint is the host and port that nodes join: the API server's, or with k3s and rke2 a server's. Default: the
	// setting clusterEndpoint, else the address in the ConfigMap cluster-info in kube-public. Example: 10.0.0.2:6443.
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$')`,message="apiServerEndpoint must be a host, a colon and a port, without https://, for example 10.0.0.2:6443"
	// +optional
	APIServerEndpoint string `json:"apiServerEndpoint,omitempty"`
	// CACertHashes are the SHA-256 hashes of the public keys of CAs that a node accepts (kubeadm, custom). Default: the
	// hashes of the cluster's CA. Example: ["sha256:<64 hexadecimal digits>"].
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=71
	// +kubebuilder:validation:items:XValidation:rule=`self.matches(r'^sha256:[0-9a-f]{64}$')`,message="each of caCertHashes must be sha256: and 64 hexadecimal digits in lower case"
	// +optional
	CACertHashes []string `json:"caCertHashes,omitempty"`
	// PreJoinCommands are shell commands that run before the node joins, as root, as one script; when one fails, the node
	// does not join. Their text can be read on the node.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	// +optional
	PreJoinCommands []string `json:"preJoinCommands,omitempty"`
	// PostJoinCommands are shell commands that run once the kubelet is started.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	// +optional
	PostJoinCommands []string `json:"postJoinCommands,omitempty"`
	// InstallerURL is the https address of the script that installs k3s or rke2, or "none" if the image contains it. Default: the
	// project's own script.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule=`self == 'none' || self.matches(r'^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$')`,message="installerURL must be an https address, or none"
	// +optional
	InstallerURL string `json:"installerURL,omitempty"`
	// TokenSecretRef is the Secret with the agent token (k3s, rke2), or with the value of the token's variable in custom user data. The
	// operator may read the Secrets that the chart's settings.instance.secrets lists.
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty"`
	// UserDataSecretRef is the Secret with the user data (custom) or the worker's machine config (talos). The operator may read
	// the Secrets that the chart's settings.instance.secrets lists.
	// +optional
	UserDataSecretRef *SecretKeyReference `json:"userDataSecretRef,omitempty"`
}

// SecretKeyReference is one key of a Secret.
type SecretKeyReference struct {
	// Namespace of the Secret. Example: kube-system.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the Secret. Example: k3s-agent-token.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret's data. Example: token.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// BootstrapType returns how nodes of the class join, kubeadm where the class does not set it.
func (in *LinodeNodeClassSpec) BootstrapType() BootstrapType {
	if in.Bootstrap == nil || in.Bootstrap.Type == "" {
		return BootstrapKubeadm
	}
	return in.Bootstrap.Type
}

// FollowsCluster returns whether the class has ClusterMinor: the image determines the minor version of a node, and a node with an earlier
// minor version than the control plane is replaced.
func (in *LinodeNodeClassSpec) FollowsCluster() bool {
	return in.Bootstrap != nil && in.Bootstrap.KubernetesVersion == ClusterMinor
}
