package karpentercore

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

// CacheOptions returns the options of the cache. The cache has only the Leases of kubelets, leaves out fields that the operator does not
// read, and bounds quantities to package quantity's Max. A field that the cache leaves out is safe: it is missing on both sides of a patch,
// so the patch does not remove it.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: bounded(cache.TransformStripManagedFields()),
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Field: fields.SelectorFromSet(fields.Set{"metadata.namespace": "kube-node-lease"})},
			&corev1.Node{}:          {Transform: bounded(withoutImages)},
			&corev1.Pod{}:           {Transform: bounded(withoutContents)},
			// The operator reads requests for two signers, and a field selector can name one signer at most.
			&certificatesv1.CertificateSigningRequest{}: {Transform: ofKubelets},
		},
	}
}

// bounded returns a transform that bounds the quantities of the fields that next keeps. Core computes with the quantities of pods,
// DaemonSets, NodePools, NodeClaims, Nodes, volumes and attachments, and a quantity of 1e9999999 would keep a CPU busy for minutes.
func bounded(next toolscache.TransformFunc) toolscache.TransformFunc {
	return func(in any) (any, error) {
		out, err := next(in)
		if err == nil {
			quantity.Bound(out)
		}
		return out, err
	}
}

// longestRequest is the largest certificate request of a kubelet that the cache keeps. A request with an RSA key of 4096 bits and ten names
// has 3 KiB. A joining node may make any number of requests of a megabyte each, and Kubernetes keeps them for 24 hours.
const longestRequest = 16 << 10

// ofKubelets drops spec, except the signer's name, and status from requests for signers other than the kubelets' signers. From a request
// that is too long it drops only spec.request.
func ofKubelets(in any) (any, error) {
	csr, is := in.(*certificatesv1.CertificateSigningRequest)
	if !is {
		return in, nil
	}
	csr.ManagedFields = nil
	switch {
	case csr.Spec.SignerName != certificatesv1.KubeletServingSignerName &&
		csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		csr.Spec = certificatesv1.CertificateSigningRequestSpec{SignerName: csr.Spec.SignerName}
		csr.Status = certificatesv1.CertificateSigningRequestStatus{}
	case len(csr.Spec.Request) > longestRequest:
		csr.Spec.Request = nil // a kubelet's request is shorter; without spec.request the operator does not approve it
	}
	return csr, nil
}

func withoutImages(in any) (any, error) {
	if node, is := in.(*corev1.Node); is {
		node.ManagedFields, node.Status.Images = nil, nil
	}
	return in, nil
}

// withoutContents keeps the fields of a pod that decide where the pod can run and when it may go. Core copies all pods of all nodes every
// few seconds, and the values of environment variables, which may be secret, must not be in this process.
func withoutContents(in any) (any, error) {
	pod, is := in.(*corev1.Pod)
	if !is {
		return in, nil
	}
	pod.ManagedFields, pod.Spec.EphemeralContainers = nil, nil
	delete(pod.Annotations, corev1.LastAppliedConfigAnnotation) // it repeats the containers
	var volumes []corev1.Volume
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			volumes = append(volumes, volume)
		}
	}
	pod.Spec.Volumes = volumes
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			c.Command, c.Args, c.Env, c.EnvFrom = nil, nil, nil, nil
			c.VolumeMounts, c.VolumeDevices = nil, nil
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		}
	}
	return in, nil
}
