// Package offhours keeps a NodePool without nodes in the windows of a schedule, such as nights and weekends.
//
// A user writes the schedule into the annotation karpenter.k8s.linode/off-hours of a NodePool. In a window the NodePool is held: its
// spec.limits.nodes is "0", so core makes no node for it. Another annotation keeps the user's own limit. One write changes the limit and
// the annotation, so that a crash loses neither. wakeBefore ahead of the end of a window the NodePool is woken, which restores the limit,
// so that nodes have joined when the window ends.
//
// All functions are pure. Package controllers/offhours writes the decisions and deletes the nodes. Packages controllers/podevents, explain
// and nodeview show the decisions.
//
// Example: {timeZone: Europe/Berlin, wakeBefore: 10m, windows: [{schedule: "0 19 * * mon-fri", duration: 12h}]} holds the NodePool from
// 19:00 to 6:50 the next morning. Windows that overlap or touch are one period. Without timeZone the times are UTC. A duration counts
// hours of the clock on the wall: the window ends at 7:00 also in a night when the clock changes. A schedule that cannot be read holds no
// NodePool. The condition OffHours is then Unknown, and its message names the wrong field.
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
	// AnnotationLimit is on a NodePool that is held: the spec.limits.nodes to restore, or "none".
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
	Again   time.Time // when the decision can change; zero = only when the NodePool changes
	Reason  string    // of the condition; "" for a NodePool without off-hours
	Message string
}

// Decide returns the decision for a NodePool at a time. A schedule that cannot be read holds no NodePool: nodes that cost money do less
// harm than pods that wait until a user corrects the schedule.
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

// shown writes a time with its zone and its day of the week, because schedules name days of the week.
func shown(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 MST") }

// Apply changes the limit, the annotation and the condition of a NodePool in memory. spec is true if it has changed the limit or the
// annotation, condition if it has changed the condition.
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

// hold sets the limit to 0, and stores the present limit as the one to restore. If a NodePool that is already held has a limit other than
// 0, a user has set a new limit, which hold stores in the same way.
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

// wake restores the stored limit, unless a user has set another limit meanwhile.
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

// Held returns the condition's message of a NodePool that is held, "" for any other NodePool.
func Held(nodePool *karpv1.NodePool) string {
	c := nodePool.StatusConditions(status.WithObservedOnly()).Get(Condition)
	switch {
	case !c.IsTrue():
		return ""
	case c.Message == "": // a dump of a cluster has no messages
		return "Off-hours: no nodes now"
	}
	return c.Message
}
