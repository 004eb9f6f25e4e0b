package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

// maxRounds bounds the rounds of placing and consolidating. A cluster comes to rest far earlier.
const maxRounds = 1000

// provision lets core place the waiting pods until it places no further pod. Several rounds are needed, because core frees limits and
// counts volumes only when nodes exist.
func (w *world) provision(ctx context.Context) error {
	for range maxRounds {
		results, err := w.provisioner.Schedule(ctx)
		if err != nil {
			return err
		}
		waited, err := w.waiting(ctx)
		if err != nil {
			return err
		}
		for _, node := range results.ExistingNodes {
			if err := w.bind(ctx, node.Name(), node.Pods); err != nil {
				return err
			}
		}
		if err := w.join(ctx, results.NewNodeClaims); err != nil {
			return err
		}
		wait, err := w.waiting(ctx)
		if err != nil {
			return err
		}
		w.clock.Step(time.Minute)
		if len(wait) == len(waited) {
			return nil
		}
	}
	return fmt.Errorf("pods are still being placed after %d rounds", maxRounds)
}

// consolidation counts the changes that core's consolidation has made.
type consolidation struct {
	Commands int
	Removed  int
	Replaced int // nodes that were made in place of removed ones
}

// consolidate runs core's consolidation until it has no command. The nodes are so old that no consolidateAfter holds them.
func (w *world) consolidate(ctx context.Context, wait time.Duration) (done consolidation, _ error) {
	w.clock.Step(wait)
	for range maxRounds {
		w.events.forget()
		commands, err := w.commands(ctx)
		if err != nil || len(commands) == 0 {
			return done, err
		}
		for _, command := range commands {
			done.Commands++
			done.Removed += len(command.Candidates)
			done.Replaced += len(command.Replacements)
			if err := w.apply(ctx, command); err != nil {
				return done, err
			}
		}
		if err := w.provision(ctx); err != nil { // pods that a command has left without a node
			return done, err
		}
		w.clock.Step(wait)
	}
	return done, fmt.Errorf("consolidation does not come to rest in %d rounds", maxRounds)
}

// apply removes a command's nodes and makes their replacements. Pods move as the command has planned, or where the kube-scheduler places
// them.
func (w *world) apply(ctx context.Context, command disruption.Command) error {
	for _, candidate := range command.Candidates {
		w.remove(candidate.Node.Name)
	}
	var moved queue
	for _, replacement := range command.Replacements {
		if w.arrival != asPlanned {
			moved.take(replacement.NodeClaim)
		}
		if _, err := w.make(ctx, replacement.NodeClaim); err != nil {
			return err
		}
	}
	for _, node := range command.Results.ExistingNodes {
		pods := node.Pods
		if w.arrival != asPlanned {
			pods = moved.without(pods)
		}
		if err := w.bind(ctx, node.Name(), pods); err != nil {
			return err
		}
	}
	_, err := w.schedule(ctx, moved.sorted(w.arrival))
	return err
}

// commands tries core's methods in core's order, and returns the commands of the first method that has any.
func (w *world) commands(ctx context.Context) ([]disruption.Command, error) {
	queue := disruption.NewQueue(w.store, w.events, w.cluster, w.clock, w.provisioner)
	base := disruption.MakeConsolidation(w.clock, w.cluster, w.store, w.provisioner, w.provider, w.events, queue)
	valid := disruption.WithValidator(unchanged{})
	for _, method := range []disruption.Method{
		disruption.NewEmptiness(base, valid), disruption.NewMultiNodeConsolidation(base, valid),
	} {
		commands, err := w.compute(ctx, method, queue, nil)
		if err != nil || len(commands) > 0 {
			return commands, err
		}
	}
	// Core would mix the nodes of several NodePools in an order that differs each time, so each NodePool is tried alone.
	for _, nodePool := range w.nodePools() {
		method := disruption.NewSingleNodeConsolidation(base, valid)
		commands, err := w.compute(ctx, method, queue, func(c *disruption.Candidate) bool { return c.NodePool.Name == nodePool })
		if err != nil || len(commands) > 0 {
			return commands, err
		}
	}
	return nil, nil
}

func (w *world) compute(ctx context.Context, method disruption.Method, queue *disruption.Queue,
	wanted func(*disruption.Candidate) bool,
) ([]disruption.Command, error) {
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, w.cluster, w.store, w.events, w.clock, w.provider,
		method.ShouldDisrupt, method.Class(), queue, nil)
	if err != nil {
		return nil, err
	}
	if wanted != nil {
		candidates = slices.DeleteFunc(candidates, func(c *disruption.Candidate) bool { return !wanted(c) })
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	slices.SortFunc(candidates, func(a, b *disruption.Candidate) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	if balanced, ok := method.(disruption.NodePoolTotalsSetter); ok {
		balanced.SetNodePoolTotals(totals)
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, w.cluster, w.clock, w.store, w.provider, w.events, method.Reason())
	if err != nil {
		return nil, err
	}
	commands, err := method.ComputeCommands(ctx, budgets, candidates...)
	return slices.DeleteFunc(commands, func(c disruption.Command) bool { return c.Decision() == disruption.NoOpDecision }), err
}

// nodePools lists the NodePools that have nodes.
func (w *world) nodePools() (names []string) {
	for _, m := range w.nodes {
		names = append(names, m.nodePool())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unchanged accepts every command: in the simulation nothing changes between a decision and its validation.
type unchanged struct{}

func (unchanged) Validate(_ context.Context, command disruption.Command, _ time.Duration) (disruption.Command, error) {
	return command, nil
}
