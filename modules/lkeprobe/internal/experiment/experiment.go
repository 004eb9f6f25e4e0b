// Package experiment has the experiments of the probe. Each makes pools of its
// own, answers its questions, and removes them; none relies on another. What it may
// create and how long it may take is declared, because the plan and the guard
// are made from that.
package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

// Experiment is one of them.
type Experiment struct {
	plan.Step
	Questions []lab.Question
	Run       func(ctx context.Context, l *lab.Lab) error
}

// All lists the experiments in the order in which they run: the cheap ones
// first, experiments that wait long last.
func All(enterprise bool) []Experiment {
	return []Experiment{
		{Step: plan.Step{Name: "filter", Limit: time.Minute}, Questions: filterQuestions, Run: filters},
		{Step: plan.Step{Name: "limits", Limit: time.Minute}, Questions: limitQuestions, Run: limits},
		{Step: plan.Step{Name: "refusals", Nodes: 2, Linodes: 1, Nanodes: 1, Limit: 6 * time.Minute}, Questions: refusalQuestions(enterprise),
			Run: refusals},
		{Step: plan.Step{Name: "arrival", Nodes: 2, Linodes: 2, Limit: 25 * time.Minute}, Questions: arrivalQuestions(enterprise), Run: arrival},
		{Step: plan.Step{Name: "tags", Nodes: 1, Linodes: 1, Limit: 8 * time.Minute}, Questions: tagQuestions, Run: onNodes(1, tags)},
		{Step: plan.Step{Name: "lag", Nodes: 2, Linodes: 2, Limit: 20 * time.Minute}, Questions: lagQuestions, Run: onNodes(1, lags)},
		{Step: plan.Step{Name: "rename", Nodes: 1, Linodes: 1, Limit: 8 * time.Minute}, Questions: renameQuestions, Run: rename},
		{Step: plan.Step{Name: "delete", Nodes: 2, Linodes: 2, Limit: 12 * time.Minute}, Questions: deleteQuestions, Run: onNodes(2, deletion)},
		{Step: plan.Step{Name: "replace", Nodes: 1, Linodes: 2, Limit: 15 * time.Minute}, Questions: replaceQuestions, Run: onNodes(1, replace)},
		{Step: plan.Step{Name: "burst", Nodes: burstPools, Linodes: burstPools, Limit: 8 * time.Minute}, Questions: burstQuestions, Run: burst},
	}
}

// onPool is an experiment on a pool whose first nodes have Linodes.
type onPool func(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error

// onNodes runs an experiment on a pool of n nodes of its own.
func onNodes(n int, do onPool) func(context.Context, *lab.Lab) error {
	return func(ctx context.Context, l *lab.Lab) error { return inPool(ctx, l, lab.Spec{Count: n}, do) }
}

// inPool makes a pool, waits for its nodes, runs the experiment and removes the pool.
func inPool(ctx context.Context, l *lab.Lab, spec lab.Spec, do onPool) (err error) {
	p, err := l.Create(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = ended(ctx, err, p) }()
	a, err := settle(ctx, p, spec.Count)
	if err != nil {
		return err
	}
	return do(ctx, l, p, a)
}

// settle waits for a pool's first nodes, so that it has Linodes to work with.
func settle(ctx context.Context, p *lab.Pool, n int) (*lab.Arrival, error) {
	a := p.Expect(n, p.Asked, nil)
	defer a.Note()
	err := a.Wait(ctx, false)
	if err == nil && len(a.Linodes()) < n {
		err = fmt.Errorf("%d of %d nodes have a Linode", len(a.Linodes()), n)
	}
	return a, err
}

// outcome is an answer in short: its status, and why it was refused.
func outcome(err error) string {
	status, reasons := lab.Status(err)
	if reasons == "" {
		return fmt.Sprint(status)
	}
	return fmt.Sprintf("%d: %s", status, reasons)
}

// ended keeps the error of an experiment, unless removing its pool failed first.
func ended(ctx context.Context, err error, p *lab.Pool) error {
	if p == nil {
		return err
	}
	if wrong := p.Remove(ctx); err == nil {
		return wrong
	}
	return err
}

func tagsOf(tags []api.Tag, more ...string) *[]api.Tag {
	out := append(slices.Clone(tags), more...)
	return &out
}
