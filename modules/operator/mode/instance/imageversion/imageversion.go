// Package imageversion finds out whether new nodes of a class join with the control plane's minor version of Kubernetes.
//
// With a custom image, or an install step of the class, only a node that has joined shows this. A node is evidence if its Linode was made
// while the control plane had its present minor version, from the present image and hash of the class. The newest such node decides.
// Example: the control plane went from 1.35 to 1.36 at 12:00, and a node made at 12:10 joins with 1.35. Then a replacement would have
// 1.35, too, so the callers replace no node for its version. The evidence ends with another image, a change of the class or another
// version of the control plane.
//
// The kubelet reports the version, so an attacker with a node's credential may forge it. A forged version can delay the replacement of
// the class's nodes, but cannot cause a replacement. The package reads NodeClaims and Nodes from a cache, and writes nothing.
//
// Differs returns nil without a proof: there is no such node, its Node object is missing or has another provider ID, or its version
// cannot be read. Only minor versions are compared. The result names the node, the image, the wanted minor version and the node's
// version.
package imageversion

import (
	"context"
	"fmt"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Wanted describes a node that a launch would make now.
type Wanted struct {
	Version string // of the control plane
	Image   string
	Hash    string // of the class
}

// Differs describes a node that was made as wanted and joined with another version.
type Differs struct{ Node, Image, Want, Have string }

// Reader finds the evidence. The cache behind it must have core's index on the NodeClass reference of NodeClaims.
type Reader struct{ kube client.Reader }

// NewReader returns a Reader.
func NewReader(kube client.Reader) *Reader { return &Reader{kube} }

// Differs compares the newest node that was made as wanted with the wanted minor version. It returns nil if the versions are equal, or if
// no such node exists.
func (r *Reader) Differs(ctx context.Context, class *v1alpha1.LinodeNodeClass, wanted Wanted) (*Differs, error) {
	list := &karpv1.NodeClaimList{}
	if err := r.kube.List(ctx, list, nodeclaimutils.ForNodeClass(class), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the NodeClaims of LinodeNodeClass %s: %w", class.Name, err)
	}
	var newest *karpv1.NodeClaim
	var have string
	for i := range list.Items {
		claim := &list.Items[i]
		if !madeAs(claim, wanted) || newest != nil && claim.CreationTimestamp.Before(&newest.CreationTimestamp) {
			continue
		}
		switch kubelet, err := r.kubelet(ctx, claim); {
		case err != nil:
			return nil, err
		case kubelet != "":
			newest, have = claim, kubelet
		}
	}
	if newest == nil || sameMinor(have, wanted.Version) {
		return nil, nil
	}
	return &Differs{Node: newest.Status.NodeName, Image: wanted.Image, Want: minor(wanted.Version), Have: plain(have)}, nil
}

// madeAs returns whether a NodeClaim's Linode was made as wanted.
func madeAs(claim *karpv1.NodeClaim, wanted Wanted) bool {
	made := claim.Annotations
	return sameMinor(made[v1alpha1.AnnotationKubernetesVersion], wanted.Version) && claim.Status.ImageID == wanted.Image &&
		made[v1alpha1.AnnotationHash] == wanted.Hash && made[v1alpha1.AnnotationHashVersion] == v1alpha1.HashVersion
}

// kubelet returns the version that a NodeClaim's node reports, "" if it has not joined.
func (r *Reader) kubelet(ctx context.Context, claim *karpv1.NodeClaim) (string, error) {
	// The NodeClaim belongs to the cache. Without this option, the set of conditions would write into it.
	if claim.Status.NodeName == "" || !claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue() {
		return "", nil
	}
	node := &corev1.Node{}
	if err := r.kube.Get(ctx, types.NamespacedName{Name: claim.Status.NodeName}, node); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	found := node.Status.NodeInfo.KubeletVersion
	if _, err := version.ParseGeneric(found); err != nil || node.Spec.ProviderID != claim.Status.ProviderID {
		return "", nil //nolint:nilerr // a text that is no version proves nothing
	}
	return found, nil
}

func sameMinor(a, b string) bool { return minor(a) != "" && minor(a) == minor(b) }

// minor returns the minor version, "" for a text that is no version.
func minor(text string) string {
	found, err := version.ParseGeneric(text)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("v%d.%d", found.Major(), found.Minor())
}

// plain returns a version without the parts that a vendor, or an attacker, adds.
func plain(text string) string {
	found, err := version.ParseGeneric(text)
	if err != nil {
		return ""
	}
	return "v" + found.String()
}
