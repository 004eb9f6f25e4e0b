// Package nodeclaim has the functions with which the cloud provider and the controllers read a NodeClaim: whether it belongs to this
// provider, and which Linode it has.
//
// A provider ID is linode://<ID>, with a decimal number without a sign and without leading zeros. InstanceID returns an error for every
// other spelling, so two spellings never name one Linode.
//
// Holders returns to the engines which NodeClaim has an instance, from the status of NodeClaims. Holder makes no request. If the status of
// two NodeClaims names one instance, Holder returns neither. A process that begins to lead calls Read first, because the cache may lack the
// last writes of the previous leader. The list of Read is used for a minute, in addition to the cache.
//
// A NodeClaim belongs to this provider (Ours) if its nodeClassRef has the group karpenter.k8s.linode and the kind LinodeNodeClass; the name
// does not count.
package nodeclaim

import (
	"fmt"
	"strconv"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Ours returns whether a reference has the group and kind of LinodeNodeClass.
func Ours(ref *karpv1.NodeClassReference) bool {
	return ref != nil && ref.Group == v1alpha1.Group && ref.Kind == v1alpha1.Kind
}

// ProviderID returns the ID that the cloud controller manager writes on the Node of an instance.
func ProviderID(instanceID int) string { return v1alpha1.ProviderIDPrefix + strconv.Itoa(instanceID) }

// InstanceID returns the instance of a provider ID, and an error for every ID that ProviderID would not write: no Linode can have it.
func InstanceID(providerID string) (int, error) {
	text, ok := strings.CutPrefix(providerID, v1alpha1.ProviderIDPrefix)
	id, err := strconv.Atoi(text)
	if !ok || err != nil || id <= 0 || ProviderID(id) != providerID {
		return 0, fmt.Errorf("provider ID %q is not of the form %s<instance ID>", providerID, v1alpha1.ProviderIDPrefix)
	}
	return id, nil
}
