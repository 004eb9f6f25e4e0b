// Package experiment has the experiments of the probe. Each experiment makes pools of its own and answers its questions; no experiment
// relies on another. An experiment declares what it may create and how long it may take: the plan and the guard are made from that.
//
// An experiment is a script, and ends as a test does: must, and the functions that call it, do not return when the API has no answer. A
// trial is an experiment that runs. It removes the pools of its experiment, and the run removes everything else at its end.
//
// Every pool carries three marks. The run's tag shows the run. A tag of its own finds the pool when the answer to its creation is lost.
// A taint keeps other pods away, and shows the owner when the API loses tags.
//
// Package lkeprobe runs the experiments of All, one at a time. If the time of an experiment is over, or the API gives no answer, the
// report has that reason for the experiment's open questions, and the run goes on with the next experiment. Only a token that the API
// refuses ends the run.
//
// A deleted node is watched for three minutes, a deleted Linode for ten minutes, a renamed Linode for 20 seconds; the burst makes 20
// pools. A change without an effect is made again.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// Experiment is one experiment: its step of the plan, its questions, and its script.
type Experiment struct {
	plan.Step
	Questions []Question
	do        func(ctx context.Context, t *trial)
}

// All lists the experiments in the order in which they run: the cheap ones first, experiments that wait long last.
func All(enterprise bool) []Experiment {
	return []Experiment{
		{plan.Step{Name: "filter", Limit: time.Minute}, filterQuestions, filters},
		{plan.Step{Name: "limits", Limit: time.Minute}, limitQuestions, limits},
		{plan.Step{Name: "refusals", Nodes: 2, Linodes: 1, Nanodes: 1, Limit: 6 * time.Minute}, refusalQuestions(enterprise), refusals},
		{plan.Step{Name: "arrival", Nodes: 2, Linodes: 2, Limit: 25 * time.Minute}, arrivalQuestions(enterprise), arrivals},
		{plan.Step{Name: "tags", Nodes: 1, Linodes: 1, Limit: 8 * time.Minute}, tagQuestions, tags},
		{plan.Step{Name: "lag", Nodes: 2, Linodes: 2, Limit: 20 * time.Minute}, lagQuestions, lags},
		{plan.Step{Name: "rename", Nodes: 1, Linodes: 1, Limit: 8 * time.Minute}, renameQuestions, rename},
		{plan.Step{Name: "delete", Nodes: 2, Linodes: 2, Limit: 12 * time.Minute}, deleteQuestions, deletion},
		{plan.Step{Name: "replace", Nodes: 1, Linodes: 2, Limit: 15 * time.Minute}, replaceQuestions, replace},
		{plan.Step{Name: "burst", Nodes: burstPools, Linodes: burstPools, Limit: 8 * time.Minute}, burstQuestions, burst},
	}
}

// Run runs the experiment, and removes its pools.
func (e Experiment) Run(ctx context.Context, l *Lab) error { return try(ctx, l, e.do) }

// trial is an experiment that runs.
type trial struct {
	*Lab
	pools []*pool
}

// ended is the panic of a trial that cannot go on.
type ended struct{ error }

func try(ctx context.Context, l *Lab, do func(context.Context, *trial)) (err error) {
	t := &trial{Lab: l}
	defer func() {
		problem := recover()
		if e, is := problem.(ended); is {
			problem, err = nil, e.error
		}
		for _, p := range t.pools {
			if wrong := p.remove(ctx); err == nil {
				err = wrong
			}
		}
		if problem != nil {
			panic(problem)
		}
	}()
	do(ctx, t)
	return nil
}

// must ends the trial with an error.
func must(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// got returns the value, or ends the trial with the error.
func got[T any](value T, err error) T {
	must(err)
	return value
}

// until calls done until it returns true.
func until(ctx context.Context, done func() bool) {
	must(poll.Until(ctx, func(context.Context) (bool, error) { return done(), nil }))
}

// within calls has until it returns true or the time is over. A 404 counts as false; any other error ends the trial.
func within(ctx context.Context, limit time.Duration, has func() (bool, error)) (there bool) {
	start := time.Now()
	until(ctx, func() bool {
		var err error
		if there, err = has(); linode.KindOf(err) != linode.KindNotFound {
			must(err)
		}
		return there || time.Since(start) > limit
	})
	return there
}

// no reports whether an error is a refusal of the API. Any other error ends the trial.
func no(err error) bool {
	kind := linode.KindOf(err)
	if kind == linode.KindInvalid || kind == linode.KindForbidden {
		return true
	}
	must(err)
	return false
}

// outcome returns the status of a request and, after a refusal, the API's reasons.
func outcome(err error) string {
	status, reasons := Status(err)
	if reasons == "" {
		return fmt.Sprint(status)
	}
	return fmt.Sprintf("%d: %s", status, reasons)
}

// Status returns the HTTP status of an outcome, and the API's reasons.
func Status(err error) (int, string) {
	if err == nil {
		return http.StatusOK, ""
	}
	e, is := errors.AsType[*linode.Error](err)
	if !is {
		return 0, err.Error()
	}
	var parts []string
	for _, r := range e.Reasons {
		if r.Field != "" {
			r.Reason = "[" + r.Field + "] " + r.Reason
		}
		parts = append(parts, r.Reason)
	}
	return e.Status, strings.Join(parts, "; ")
}

// either returns one of two words.
func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func tagsOf(tags []api.Tag, more ...string) *[]api.Tag {
	out := append(slices.Clone(tags), more...)
	return &out
}
