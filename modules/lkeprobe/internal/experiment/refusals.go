package experiment

import (
	"context"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

// edit is a change of the experiment's own pool. It costs nothing, whether the API refuses it or not.
type edit struct {
	id, text, expected string
	change             api.LKENodePoolUpdate
}

func edits(l *Lab) []edit {
	tainted := func(key, value, effect string) api.LKENodePoolUpdate {
		return api.LKENodePoolUpdate{Taints: l.taints(api.LKETaint{Key: key, Value: value, Effect: api.LKETaintEffect(effect)})}
	}
	labelled := func(key, value string) api.LKENodePoolUpdate {
		return api.LKENodePoolUpdate{Labels: &map[string]string{key: value}}
	}
	zero, low, high, off, label := 0, 2, 1, false, "Probe_Label"
	return []edit{
		{"label_characters", "Label key -bad-", refused, labelled("-bad-", "x")},
		{"label_length", "Label key of 64 characters", refused, labelled(strings.Repeat("lkeprobe", 8), "x")},
		{"label_kubernetes", "Label key node.kubernetes.io/lkeprobe", Unknown, labelled("node.kubernetes.io/lkeprobe", "x")},
		{"label_linode", "Label key linode.com/lkeprobe", Unknown, labelled("linode.com/lkeprobe", "x")},
		{"label_value", "Label value of 64 characters", refused, labelled("lkeprobe", strings.Repeat("lkeprobe", 8))},
		{"taint_characters", "Taint key -bad-", refused, tainted("-bad-", "x", "NoSchedule")},
		{"taint_length", "Taint key of 64 characters", Unknown, tainted("example.com/"+strings.Repeat("lkep", 13), "x", "NoSchedule")},
		{"taint_reserved", "Taint key node.kubernetes.io/lkeprobe", Unknown, tainted("node.kubernetes.io/lkeprobe", "x", "NoSchedule")},
		{"taint_value", "Taint value kubernetes.io", Unknown, tainted("lkeprobe", "kubernetes.io", "NoSchedule")},
		{"taint_effect", "Taint effect Never", refused, tainted("lkeprobe", "x", "Never")},
		{"taint_empty", "Taint with an empty value", "200", tainted("lkeprobe", "", "PreferNoSchedule")},
		{"pool_label", "Pool label Probe_Label", Unknown, api.LKENodePoolUpdate{Label: &label}},
		{"autoscaler", "autoscaler with min above max", refused,
			api.LKENodePoolUpdate{Autoscaler: &api.LKEAutoscalerUpdate{Min: &low, Max: &high, Enabled: &off}}},
		{"zero", "PUT count 0", either(l.Enterprise, Unknown, refused), api.LKENodePoolUpdate{Count: &zero}},
	}
}

// decided are the switches that the outcomes of edits decide.
var decided = map[string]string{"taint_reserved": report.ReservedTaintKeys, "zero": report.ZeroCount}

func refusalQuestions(enterprise bool) []Question {
	list := []Question{
		{"refusals.type", "POST pools with a plan that does not exist", refused},
		{"refusals.nanode", "POST pools with plan " + plan.NanodePlan, refused},
		{"refusals.count", "POST pools with a count over the limit (and a plan that does not exist)", refused},
		{"refusals.isolation", "POST pools without public addresses (and a plan that does not exist)", Unknown},
		{"refusals.negative", "POST pools with count -1 (and a plan that does not exist)", refused},
	}
	for _, e := range edits(&Lab{Enterprise: enterprise}) {
		list = append(list, Question{"refusals." + e.id, e.text, e.expected})
	}
	return list
}

// refusals sends requests that the API should refuse. They cost nothing: a request that would buy nodes names a plan
// that does not exist, and the other requests change the experiment's own pool. Only the Nanode could be bought; the
// plan counts it.
func refusals(ctx context.Context, t *trial) {
	over, off := 101, false
	if t.Enterprise {
		over = 501
	}
	for _, c := range []struct {
		id, plan string
		count    int
		isolated *api.LKEIsolation
	}{
		{"type", guard.NoSuchPlan, 1, nil},
		{"count", guard.NoSuchPlan, over, nil},
		{"isolation", guard.NoSuchPlan, 1, &api.LKEIsolation{PublicIPv4: &off, PublicIPv6: &off}},
		{"negative", guard.NoSuchPlan, -1, nil},
		{"nanode", plan.NanodePlan, 1, nil},
	} {
		p, err := t.create(ctx, func(r *api.LKENodePoolCreate) { r.Type, r.Isolation = c.plan, c.isolated }, c.count)
		t.judge("refusals."+c.id, err)
		if p != nil {
			must(p.remove(ctx))
		}
	}
	p := t.pool(ctx, nil, 1)
	for _, e := range edits(t.Lab) {
		_, err := t.Client.UpdatePool(ctx, t.ClusterID, p.id, e.change)
		no := t.judge("refusals."+e.id, err)
		if choice := decided[e.id]; choice != "" {
			t.Book.Switch(choice, either(no, report.ValueRefused, report.ValueAccepted))
		}
	}
}

// judge notes an outcome and reports whether the API refused. A failure of the API is no answer, and ends the trial.
func (l *Lab) judge(question string, err error) (no bool) {
	if no = linode.KindOf(err) == linode.KindInvalid; !no {
		must(err)
	}
	l.Book.Outcome(question, err)
	return no
}
