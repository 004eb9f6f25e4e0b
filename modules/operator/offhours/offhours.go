// Package offhours keeps a NodePool without nodes in the windows of a schedule, such as nights and weekends.
//
// A user writes the schedule into the annotation karpenter.k8s.linode/off-hours of a NodePool. In a window the NodePool is held: its
// spec.limits.nodes is "0", which core heeds wherever it makes a node. Hold stores the user's own limit in another annotation. One write
// changes both, so that a crash loses neither, and Wake restores the limit. Towards the end of a window the NodePool is woken, so that
// nodes have joined when the window ends.
//
// All functions are pure. Callers: controllers/offhours writes what they decide and deletes the nodes; controllers/podevents, explain and
// nodeview show it.
//
// Example: {timeZone: Europe/Berlin, wakeBefore: 10m, windows: [{schedule: "0 19 * * mon-fri", duration: 12h}]} holds the NodePool from
// 19:00 to 6:50 the next morning. Windows that overlap or touch are one period. Without timeZone the times are UTC. A duration counts
// hours of the clock on the wall, also in a night when the clock changes. A schedule that cannot be read holds nothing, and the condition
// OffHours is Unknown with the field at fault.
//
// A schedule has 1 to 20 windows. Parse refuses an unknown field, an unknown time zone, and a wakeBefore that is not shorter than each
// duration.
package offhours

import (
	"fmt"
	"maps"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// The annotations of a NodePool.
const (
	// Annotation has the schedule, which Parse reads.
	Annotation = "karpenter.k8s.linode/off-hours"
	// AnnotationLimit is on a NodePool that is held: the spec.limits.nodes that Wake restores, or none.
	AnnotationLimit = "karpenter.k8s.linode/off-hours-limit"
)

// Condition is on a NodePool with the annotation: True while it is held, Unknown while its schedule cannot be read.
const Condition = "OffHours"

// The reasons of the condition.
const (
	ReasonHeld    = "Held"
	ReasonAwake   = "Awake"
	ReasonInvalid = "InvalidSchedule"
)

// none is the AnnotationLimit of a NodePool without a limit on nodes.
const none = "none"

// Decision is the answer for one NodePool at one time.
type Decision struct {
	Hold    bool
	Again   time.Time // when the answer may be another; zero = not before the NodePool changes
	Reason  string    // of the condition; "" for a NodePool without off-hours
	Message string
}

// Decide reads the annotation. A schedule that cannot be read holds no NodePool: nodes that cost money do less harm than pods that wait
// until a user corrects the schedule.
func Decide(nodePool *karpv1.NodePool, now time.Time) Decision {
	annotation, ok := nodePool.Annotations[Annotation]
	if !ok {
		return Decision{}
	}
	s, err := Parse(annotation, now)
	if err != nil {
		return Decision{Reason: ReasonInvalid, Message: fmt.Sprintf("In the annotation %s, %v", Annotation, err)}
	}
	if p, held := s.Now(now); held {
		return Decision{Hold: true, Again: p.Wake, Reason: ReasonHeld,
			Message: fmt.Sprintf("Off-hours until %s: no nodes before %s", shown(p.End), shown(p.Wake))}
	}
	p := s.Next(now)
	return Decision{Again: p.Start, Reason: ReasonAwake,
		Message: fmt.Sprintf("The next off-hours are from %s to %s, without nodes until %s", shown(p.Start), shown(p.End), shown(p.Wake))}
}

// shown writes a time with its day of the week, which schedules are about, and its zone.
func shown(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 MST") }

// Apply changes the limit and the annotation of a NodePool, and its condition. It returns whether the limit or the annotation, and whether
// the condition is another now.
func (d Decision) Apply(nodePool *karpv1.NodePool) (spec, condition bool) {
	if d.Hold {
		spec = hold(nodePool)
	} else {
		spec = wake(nodePool)
	}
	conditions := nodePool.StatusConditions()
	if d.Reason == "" {
		had := conditions.Get(Condition) != nil
		_ = conditions.Clear(Condition) // fails only for conditions that Ready depends on
		return spec, had
	}
	is := map[string]metav1.ConditionStatus{
		ReasonHeld: metav1.ConditionTrue, ReasonAwake: metav1.ConditionFalse, ReasonInvalid: metav1.ConditionUnknown,
	}[d.Reason]
	return spec, conditions.Set(status.Condition{Type: Condition, Status: is, Reason: d.Reason, Message: d.Message})
}

// hold sets the limit to 0. A limit that is not 0 on a NodePool that is held is a user's new one, and the one to restore.
func hold(nodePool *karpv1.NodePool) bool {
	limit, limited := nodePool.Spec.Limits[resources.Node]
	if _, held := nodePool.Annotations[AnnotationLimit]; held && limited && limit.IsZero() {
		return false
	}
	own := none
	if limited {
		own = limit.String()
	}
	metav1.SetMetaDataAnnotation(&nodePool.ObjectMeta, AnnotationLimit, own)
	limits := maps.Clone(nodePool.Spec.Limits)
	if limits == nil {
		limits = karpv1.Limits{}
	}
	limits[resources.Node] = resource.MustParse("0")
	nodePool.Spec.Limits = limits
	return true
}

// wake restores the limit, unless a user has set another one meanwhile.
func wake(nodePool *karpv1.NodePool) bool {
	own, held := nodePool.Annotations[AnnotationLimit]
	if !held {
		return false
	}
	delete(nodePool.Annotations, AnnotationLimit)
	if limit, limited := nodePool.Spec.Limits[resources.Node]; !limited || !limit.IsZero() {
		return true
	}
	limits := maps.Clone(nodePool.Spec.Limits)
	delete(limits, resources.Node)
	if quantity, err := resource.ParseQuantity(own); err == nil {
		limits[resources.Node] = quantity
	}
	nodePool.Spec.Limits = limits
	return true
}

// Held returns the message of a NodePool that is held, "" for others.
func Held(nodePool *karpv1.NodePool) string {
	c := nodePool.StatusConditions(status.WithObservedOnly()).Get(Condition)
	switch {
	case !c.IsTrue():
		return ""
	case c.Message == "": // a dump has no messages
		return "Off-hours: no nodes now"
	}
	return c.Message
}
