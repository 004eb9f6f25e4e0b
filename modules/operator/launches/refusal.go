package launches

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// A Version identifies an object as a launch was made from it.
type Version struct {
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
}

// A Source has what a launch is made from.
type Source struct{ NodePool, NodeClass Version }

// A Refusal is why launches from a source are not tried: a repetition can only be refused again until the NodePool or its LinodeNodeClass
// is changed. It concerns all NodePools of the class when NodePool is zero, and ends with another generation of what it concerns.
type Refusal struct {
	NodePool  Version   `json:"nodePool,omitzero"`
	NodeClass Version   `json:"nodeClass"`
	Field     string    `json:"field,omitempty"` // of the request, or of the class, that is refused
	Message   string    `json:"message"`
	Until     time.Time `json:"until"`
}

// A source has one refusal: a later generation replaces an earlier one.
type source struct{ nodePool, nodeClass types.UID }

func (r Refusal) source() source { return source{r.NodePool.UID, r.NodeClass.UID} }

// classFields are how fields begin that a class alone sets: the beginnings in LKE's requests, of instances.Spec, and of the class itself.
var classFields = []string{
	"firewall_id", "disk_encryption", "isolation", "Spec.Network", "Spec.Image", "Spec.MaintenancePolicy", "Spec.PlacementGroup",
	claims.FieldPlacementGroups,
}

// OfClass returns whether only a class sets a field, so that a refusal of it concerns all NodePools of the class.
func OfClass(field string) bool {
	return slices.ContainsFunc(classFields, func(prefix string) bool { return strings.HasPrefix(field, prefix) })
}
