package explain

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpevents "sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches/stored"
)

// Reports hold the operator's records in a running cluster: its Lease, events and pauses.
type Reports struct {
	Lease  *Lease // nil = no Lease: no operator has run, or only an operator without leader election
	Events []corev1.Event
	launches.State
	Unread []string // objects that could not be read, with the reason
}

// A Lease is the Lease that the working operator holds.
type Lease struct {
	Name    string // with its namespace
	Holder  string // "" = given back
	Renewed time.Time
	Expired bool
}

const (
	leaseName = "karpenter-leader-election" // core's LEADER_ELECTION_NAME by default
	theLease  = "the operator's Lease"
	// renewals is longer than the two seconds after which a holder renews its Lease.
	renewals = 5 * time.Second
)

// Read reads the reports of a cluster. Unread names the parts that it may not read.
func Read(ctx context.Context, kube client.Reader) *Reports {
	r := &Reports{}
	unread := func(what string, err error) {
		if err != nil {
			r.Unread = append(r.Unread, fmt.Sprintf("%s (%v)", what, err))
		}
	}
	lease, err := newestLease(ctx, kube)
	unread(theLease, err)
	if lease != nil {
		r.Lease, err = judged(ctx, kube, lease)
		unread(theLease, err)
		unread("the operator's pauses", r.readPauses(ctx, kube, lease.Namespace))
	}
	for _, fields := range []client.MatchingFields{
		{"reason": karpevents.Nominated}, {"involvedObject.kind": "NodePool"}, {"involvedObject.kind": "NodeClaim"},
		{"involvedObject.kind": v1alpha1.Kind},
	} {
		list := &corev1.EventList{}
		if err := kube.List(ctx, list, fields); err != nil {
			unread("events", err)
			break
		}
		r.Events = append(r.Events, list.Items...)
	}
	return r
}

func newestLease(ctx context.Context, kube client.Reader) (*coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	if err := kube.List(ctx, list, client.MatchingFields{"metadata.name": leaseName}); err != nil || len(list.Items) == 0 {
		return nil, err
	}
	newest := slices.MaxFunc(list.Items, func(a, b coordinationv1.Lease) int { return renewed(&a).Compare(renewed(&b)) })
	return &newest, nil
}

func renewed(lease *coordinationv1.Lease) time.Time {
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
}

// judged returns whether a Lease has expired. It reads a Lease that seems expired again after two renewals: this machine's clock may
// differ from the clock of the operator's node.
func judged(ctx context.Context, kube client.Reader, lease *coordinationv1.Lease) (*Lease, error) {
	holds := func(l *coordinationv1.Lease) bool {
		lasts := time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 15)) * time.Second
		return ptr.Deref(l.Spec.HolderIdentity, "") != "" && time.Since(renewed(l)) <= lasts
	}
	of := func(l *coordinationv1.Lease, expired bool) *Lease {
		return &Lease{l.Namespace + "/" + l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), renewed(l), expired}
	}
	if holds(lease) {
		return of(lease, false), nil
	}
	select {
	case <-ctx.Done():
		return of(lease, true), ctx.Err()
	case <-time.After(renewals):
	}
	again := &coordinationv1.Lease{}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(lease), again); err != nil {
		return of(lease, true), err
	}
	return of(again, !holds(again) && renewed(again).Equal(renewed(lease))), nil
}

// readPauses reads the operator's records of failed launches, from annotations of a ConfigMap in the namespace of its Lease.
func (r *Reports) readPauses(ctx context.Context, kube client.Reader, namespace string) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, object := range list.Items {
		state, err := stored.Read(object.Annotations)
		if err != nil {
			return fmt.Errorf("ConfigMap %s/%s: %w", namespace, object.Name, err)
		}
		r.Pauses, r.Refusals, r.Rests = append(r.Pauses, state.Pauses...), append(r.Refusals, state.Refusals...), append(r.Rests, state.Rests...)
	}
	return nil
}

// Withheld returns why the operator does not buy a plan for a NodePool now, "" if there is no recorded reason.
func (r *Reports) Withheld(cluster *snapshot.Snapshot, nodePool, plan string, now time.Time) string {
	if r == nil {
		return ""
	}
	until := func(at time.Time) string { return ", until " + at.UTC().Format(time.TimeOnly) + " UTC" }
	if pool := find(cluster.NodePools, "", nodePool); pool != nil && pool.Spec.Template.Spec.NodeClassRef != nil {
		class := find(cluster.NodeClasses, "", pool.Spec.Template.Spec.NodeClassRef.Name)
		for _, refusal := range r.Refusals {
			if class != nil && now.Before(refusal.Until) && refusal.NodeClass == version(class) &&
				(refusal.NodePool == launches.Version{} || refusal.NodePool == version(pool)) {
				return "the last launch was refused, and no launch is tried before a change" + until(refusal.Until) + ": " + refusal.Message
			}
		}
	}
	for _, failure := range r.Pauses {
		if failure.NodePool == nodePool && (failure.Plan == "" || failure.Plan == plan) && now.Before(failure.Until) {
			what := "nodes of it never joined"
			if failure.Plan == "" {
				what = "launches were given up"
			}
			return fmt.Sprintf("%s, %d in a row%s", what, failure.InARow, until(failure.Until))
		}
	}
	for _, rest := range r.Rests {
		if rest.Plan == plan && now.Before(rest.Ends) {
			return rest.Cause.Text() + until(rest.Ends)
		}
	}
	return ""
}

func version(object client.Object) launches.Version {
	return launches.Version{UID: object.GetUID(), Generation: object.GetGeneration()}
}

// at returns the time at which an event occurred last.
func at(event *corev1.Event) time.Time {
	last := event.LastTimestamp.Time
	if event.Series != nil && event.Series.LastObservedTime.After(last) {
		last = event.Series.LastObservedTime.Time
	}
	for _, other := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time} {
		if last.IsZero() {
			last = other
		}
	}
	return last
}

// warnings returns the newest recent warning of each reason about an object, newest first.
func (r *Reports) warnings(kind, name string, now time.Time) (all []corev1.Event) {
	const recent = 5 * time.Minute // as long as the shortest rests of plans and NodePools last, and a little more
	if r == nil {
		return nil
	}
	for i := range r.Events {
		event := &r.Events[i]
		if event.InvolvedObject.Kind == kind && event.InvolvedObject.Name == name && event.Type == corev1.EventTypeWarning &&
			now.Sub(at(event)) <= recent {
			all = append(all, *event)
		}
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int { return cmp.Or(at(&b).Compare(at(&a)), cmp.Compare(a.Reason, b.Reason)) })
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(event corev1.Event) bool {
		known := seen[event.Reason]
		seen[event.Reason] = true
		return known
	})
}

var nominatedClaim = regexp.MustCompile(`\bnodeclaim/([a-z0-9.-]+)`)

// nominated returns the NodeClaim that core has named last for a pod, "" if core has named no NodeClaim.
func (r *Reports) nominated(pod *corev1.Pod) (claim string) {
	if r == nil {
		return ""
	}
	var last time.Time
	for i := range r.Events {
		event := &r.Events[i]
		if event.Reason != karpevents.Nominated || event.InvolvedObject.UID != pod.UID || at(event).Before(last) {
			continue
		}
		if found := nominatedClaim.FindStringSubmatch(event.Message); found != nil {
			claim, last = found[1], at(event)
		}
	}
	return claim
}

// unlaunched returns whether a NodeClaim keeps core from planning: it has no instance yet.
func unlaunched(claim *karpv1.NodeClaim) bool { return claim.Status.ProviderID == "" }
