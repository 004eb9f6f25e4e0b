package experiment

import (
	"context"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

// refused is the expectation that something is refused, in whatever words.
const refused = "refused"

// edit is a change of the experiment's own pool: free, whether it is refused or
// not.
type edit struct {
	id, text, expected string
	change             api.LKENodePoolUpdate
	choice             string // the switch that its outcome decides; "" = none
}

func labelled(key, value string) api.LKENodePoolUpdate {
	return api.LKENodePoolUpdate{Labels: &map[string]string{key: value}}
}

func edits(l *lab.Lab) []edit {
	tainted := func(key, value, effect string) api.LKENodePoolUpdate {
		return api.LKENodePoolUpdate{Taints: l.Taints(api.LKETaint{Key: key, Value: value, Effect: api.LKETaintEffect(effect)})}
	}
	zero, label := 0, "Probe_Label"
	zeroExpected := refused
	if l.Enterprise {
		zeroExpected = lab.Unknown
	}
	autoscaler := api.LKENodePoolUpdate{Autoscaler: &api.LKEAutoscalerUpdate{}}
	low, high, off := 2, 1, false
	autoscaler.Autoscaler.Min, autoscaler.Autoscaler.Max, autoscaler.Autoscaler.Enabled = &low, &high, &off
	return []edit{
		{"label_characters", "Label key -bad-", refused, labelled("-bad-", "x"), ""},
		{"label_length", "Label key of 64 characters", refused, labelled(strings.Repeat("lkeprobe", 8), "x"), ""},
		{"label_kubernetes", "Label key node.kubernetes.io/lkeprobe", lab.Unknown, labelled("node.kubernetes.io/lkeprobe", "x"), ""},
		{"label_linode", "Label key linode.com/lkeprobe", lab.Unknown, labelled("linode.com/lkeprobe", "x"), ""},
		{"label_value", "Label value of 64 characters", refused, labelled("lkeprobe", strings.Repeat("lkeprobe", 8)), ""},
		{"taint_characters", "Taint key -bad-", refused, tainted("-bad-", "x", "NoSchedule"), ""},
		{"taint_length", "Taint key of 64 characters", lab.Unknown, tainted("example.com/"+strings.Repeat("lkep", 13), "x", "NoSchedule"),
			""},
		{"taint_reserved", "Taint key node.kubernetes.io/lkeprobe", lab.Unknown, tainted("node.kubernetes.io/lkeprobe", "x", "NoSchedule"),
			report.ReservedTaintKeys},
		{"taint_value", "Taint value kubernetes.io", lab.Unknown, tainted("lkeprobe", "kubernetes.io", "NoSchedule"), ""},
		{"taint_effect", "Taint effect Never", refused, tainted("lkeprobe", "x", "Never"), ""},
		{"taint_empty", "Taint with an empty value", "200", tainted("lkeprobe", "", "PreferNoSchedule"), ""},
		{"pool_label", "Pool label Probe_Label", lab.Unknown, api.LKENodePoolUpdate{Label: &label}, ""},
		{"autoscaler", "autoscaler with min above max", refused, autoscaler, ""},
		{"zero", "PUT count 0", zeroExpected, api.LKENodePoolUpdate{Count: &zero}, report.ZeroCount},
	}
}

func refusalQuestions(enterprise bool) []lab.Question {
	list := []lab.Question{
		{ID: "refusals.type", Text: "POST pools with a plan that does not exist", Expected: refused},
		{ID: "refusals.nanode", Text: "POST pools with plan " + plan.NanodePlan, Expected: refused},
		{ID: "refusals.count", Text: "POST pools with a count over the limit (and a plan that does not exist)", Expected: refused},
		{ID: "refusals.isolation", Text: "POST pools without public addresses (and a plan that does not exist)", Expected: lab.Unknown},
		{ID: "refusals.negative", Text: "POST pools with count -1 (and a plan that does not exist)", Expected: refused},
	}
	for _, e := range edits(&lab.Lab{Enterprise: enterprise}) {
		list = append(list, lab.Question{ID: "refusals." + e.id, Text: e.text, Expected: e.expected})
	}
	return list
}

// refusals requests what should be refused. None of it costs anything: what
// would buy nodes names a plan that does not exist besides, and the rest changes
// the experiment's own pool. Only a Nanode could be bought, and is planned for.
func refusals(ctx context.Context, l *lab.Lab) (err error) {
	over := 101
	if l.Enterprise {
		over = 501
	}
	for _, c := range []struct {
		id   string
		spec lab.Spec
	}{
		{"type", lab.Spec{Type: guard.NoSuchPlan, Count: 1}},
		{"count", lab.Spec{Type: guard.NoSuchPlan, Count: over}},
		{"isolation", lab.Spec{Type: guard.NoSuchPlan, Count: 1, Isolated: true}},
		{"negative", lab.Spec{Type: guard.NoSuchPlan, Count: -1}},
		{"nanode", lab.Spec{Type: plan.NanodePlan, Count: 1}},
	} {
		if err := refusedCreate(ctx, l, "refusals."+c.id, c.spec); err != nil {
			return err
		}
	}
	p, err := l.Create(ctx, lab.Spec{Count: 1})
	if err != nil {
		return err
	}
	defer func() { err = ended(ctx, err, p) }()
	for _, e := range edits(l) {
		_, err := l.Client.UpdatePool(ctx, l.ClusterID, p.ID, e.change)
		if err := judge(l, "refusals."+e.id, e.choice, err); err != nil {
			return err
		}
	}
	return nil
}

func refusedCreate(ctx context.Context, l *lab.Lab, question string, spec lab.Spec) error {
	p, err := l.Create(ctx, spec)
	if wrong := judge(l, question, "", err); wrong != nil {
		return wrong
	}
	if p == nil {
		return nil
	}
	return p.Remove(ctx)
}

// judge notes an outcome: what the API refuses is an answer as well, a failure
// of the API is no answer.
func judge(l *lab.Lab, question, choice string, err error) error {
	no := linode.KindOf(err) == linode.KindInvalid
	if err != nil && !no {
		return err
	}
	seen := outcome(err)
	l.Book.Judge(question, seen, func(expected string) bool {
		return no && expected == refused || seen == expected
	})
	if choice != "" {
		l.Book.Switch(choice, map[bool]string{true: report.ValueRefused, false: report.ValueAccepted}[no])
	}
	return nil
}
