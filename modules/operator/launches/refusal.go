package launches

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// A Version identifies a generation of an object, from which a launch was made.
type Version struct {
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
}

// A Source has the objects from which a launch is made.
type Source struct{ NodePool, NodeClass Version }

// A Refusal is the reason why launches from a source are not tried: the API would refuse each repetition until a user changes the
// NodePool or its LinodeNodeClass. If NodePool is zero, the refusal concerns all NodePools of the class. A new generation of the NodePool
// or the class ends the refusal.
type Refusal struct {
	NodePool  Version   `json:"nodePool,omitzero"`
	NodeClass Version   `json:"nodeClass"`
	Field     string    `json:"field,omitempty"` // of the request, or of the class, that is refused
	Message   string    `json:"message"`
	Until     time.Time `json:"until"`
}

// source is the key of a refusal. It has no generation, so the refusal of a later generation replaces the refusal of an earlier one.
type source struct{ nodePool, nodeClass types.UID }

func (r Refusal) source() source { return source{r.NodePool.UID, r.NodeClass.UID} }

// classFields are the prefixes of fields that only a class sets: in LKE's requests, in instances.Spec, and in the class itself.
var classFields = []string{
	"firewall_id", "disk_encryption", "isolation", "Spec.Network", "Spec.Image", "Spec.MaintenancePolicy", "Spec.PlacementGroup",
	claims.FieldPlacementGroups,
}

// OfClass returns whether only a class sets a field, so that a refusal of it concerns all NodePools of the class.
func OfClass(field string) bool {
	return slices.ContainsFunc(classFields, func(prefix string) bool { return strings.HasPrefix(field, prefix) })
}
