// Package launches records launches that the Linode API refuses for what they are made from: a repetition can only be refused again until
// the NodePool or its LinodeNodeClass is changed. While core repeats a launch it plans nothing, for any pod of the cluster.
//
// A refusal concerns one NodePool with its class, or the class with all of its NodePools, as the field that the API names decides. It
// ends with another generation of what it concerns, and after Lasts, because its cause may be outside of the cluster and corrected there.
// Export and Import carry it over a restart (controllers/pauses).
//
// Used by cloudprovider, concurrently.
package launches

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// longestMessage bounds a message that is stored, so that 250 refusals find room in an annotation.
const longestMessage = 100

// Lasts bounds for how long a refusal counts while nothing is changed.
const RefusalLasts = 5 * time.Minute

// A Version identifies an object as a launch was made from it.
type Version struct {
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
}

// A Source has what a launch is made from.
type Source struct{ NodePool, NodeClass Version }

// A Refusal is why launches from a source are not tried. It concerns all NodePools of the class when NodePool is zero.
type Refusal struct {
	NodePool  Version   `json:"nodePool,omitzero"`
	NodeClass Version   `json:"nodeClass"`
	Field     string    `json:"field,omitempty"` // of the request, or of the class, that is refused
	Message   string    `json:"message"`
	Until     time.Time `json:"until"`
}

// Launches are the refusals that count. It is safe for concurrent use.
type Refusals struct {
	mu  sync.Mutex
	all map[key]Refusal
}

// A key has one refusal: a later generation replaces an earlier one.
type key struct{ nodePool, nodeClass types.UID }

// New returns Launches without a refusal.
func NewRefusals() *Refusals { return &Refusals{all: map[key]Refusal{}} }

// Note records a refusal of launches from a source.
func (l *Refusals) Note(from Source, field, message string) {
	r := Refusal{NodePool: from.NodePool, NodeClass: from.NodeClass, Field: field, Message: message, Until: time.Now().Add(RefusalLasts)}
	if OfClass(field) {
		r.NodePool = Version{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	l.all[r.key()] = r
}

// Of returns the refusal of launches from a source, false if no refusal is recorded.
func (l *Refusals) Of(from Source) (Refusal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range []key{{nodeClass: from.NodeClass.UID}, {from.NodePool.UID, from.NodeClass.UID}} {
		r, known := l.all[k]
		if known && r.NodeClass == from.NodeClass && (k.nodePool == "" || r.NodePool == from.NodePool) && time.Now().Before(r.Until) {
			return r, true
		}
	}
	return Refusal{}, false
}

// Export returns the refusals that count still, in a fixed order.
func (l *Refusals) Export() []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
	all := slices.SortedFunc(maps.Values(l.all), func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.NodeClass.UID, b.NodeClass.UID), cmp.Compare(a.NodePool.UID, b.NodePool.UID))
	})
	for i := range all {
		all[i].Until = all[i].Until.UTC().Round(time.Second)
		all[i].Message = printable.Bounded(all[i].Message, longestMessage)
	}
	return all
}

// Import adds refusals that another process has exported. What cannot be, such as one that lasts longer than any, is left out, and what
// this process has recorded itself stays.
func (l *Refusals) Import(all []Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range all {
		left := time.Until(r.Until)
		if _, known := l.all[r.key()]; !known && r.NodeClass.UID != "" && left > 0 && left <= RefusalLasts+time.Second {
			l.all[r.key()] = r
		}
	}
}

func (l *Refusals) forget() {
	now := time.Now()
	maps.DeleteFunc(l.all, func(_ key, r Refusal) bool { return !now.Before(r.Until) })
}

func (r Refusal) key() key { return key{r.NodePool.UID, r.NodeClass.UID} }

// classFields are how fields begin that a class alone sets: the beginnings in LKE's requests, of instances.Spec, and of the class itself.
var classFields = []string{
	"firewall_id", "disk_encryption", "isolation", "Spec.Network", "Spec.Image", "Spec.MaintenancePolicy", "Spec.PlacementGroup",
	claims.FieldPlacementGroups,
}

// OfClass returns whether a field is one that a class alone sets, so that a refusal of it concerns all NodePools of the class.
func OfClass(field string) bool {
	return slices.ContainsFunc(classFields, func(prefix string) bool { return strings.HasPrefix(field, prefix) })
}
