// Package lkeprobe answers on a Linode account the questions that no source answers: how long LKE takes, how far its answers lag, what it
// refuses, and whether it breaks an assumption of the operator. `karpenter-linode verify` is its program.
//
// A run first shows its plan with a price. It creates node pools in one cluster and nothing else, and removes them at its end, also
// when it ends by a signal (the end of its context) or by a panic. Clean removes the pools that a killed run left. Every request passes
// package guard, which lets through only requests about the run's own pools. Config.Operator adds the tasks of the installed operator
// in the cluster.
//
// The report does not identify the account: in texts of the API, placeholders replace every number of five digits and more, every address
// and every mail address. Nothing else of the API's answers is copied.
//
// The packages below have one subject each: plan (what a run may create and cost), guard (the audit of requests), experiment (the
// questions), poll (bounds of a measured delay).
//
// Run returns the report also when the run ended early, and nil with ErrDeclined when the user did not agree. An error names everything
// that could not be removed. Three bounds limit a run: its plan of Linodes, its duration, and its budget in dollars. The run does not
// begin if it could cost more. Clean looks for ten minutes (Config.Watch) for pools that appear late.
//
// A Linode or pool counts as gone after three 404s in a row, over five seconds. A deletion without effect is repeated every 20 seconds.
// One request may take 15 seconds. A run's ID has 6 to 12 lower case letters and digits.
package lkeprobe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

// Access holds the token and the address of the API.
type Access struct {
	Token     string
	BaseURL   string // "" = https://api.linode.com
	CAFile    string
	Transport http.RoundTripper // nil = the network
}

// Bounds limit a run.
type Bounds struct {
	Type     string // plan of the nodes; "" = the cheapest that LKE takes
	Duration time.Duration
	Budget   float64 // dollars
}

type (
	// Node is a Kubernetes Node of the cluster.
	Node = experiment.Node
	// Nodes reads the cluster's Kubernetes Nodes.
	Nodes = experiment.Nodes
	// Step has the Linodes that one experiment or scenario may create, and its time.
	Step = plan.Step
	// Plan has the plans and prices of a run.
	Plan = plan.Plan
)

// Operator is the part of a run that the operator plays.
type Operator interface {
	// Steps lists the scenarios in their order. They create nothing before Run.
	Steps() []Step
	// Run plays one scenario with the plans of the run.
	Run(ctx context.Context, step string, p Plan) report.Scenario
	// Remove removes all that the scenarios made, and returns the remaining objects with the reason. Some of it may be gone already.
	Remove(ctx context.Context) []string
}

// Config of a run or a clean-up.
type Config struct {
	Access    Access
	ClusterID int    // of LKE; 0 = the operator's nodes are plain Linodes in Region, and only the operator is tested
	Region    string // of plain Linodes
	Bounds    Bounds
	Only      []string // names of experiments and scenarios; none = all
	DryRun    bool
	Nodes     Nodes                           // nil without a kubeconfig
	Operator  Operator                        // nil = no operator is tested
	Confirm   func(text string) (bool, error) // nil = agreed
	Out       io.Writer                       // progress, for people
	Run       string                          // ID; "" = a random one, or for Clean all runs
	Watch     time.Duration                   // Clean: how long to look for pools that appear late; 0 = watchLate
}

// runID keeps IDs of runs long enough to be in no tag by chance, and short enough for a pool's label and the tags that are tried.
var runID = regexp.MustCompile(`^[a-z0-9]{6,12}$`)

// ErrDeclined is the error of a run that its user did not agree to.
var ErrDeclined = errors.New("you did not agree; nothing was created")

// NewRun makes the ID of a run.
func NewRun() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // does not fail
	return hex.EncodeToString(id[:])
}

// NodePool is the name of the NodePool that a run makes for the operator. The operator tags LKE pools with it.
func NodePool(run string) string { return nodePoolPrefix + run }

const (
	nodePoolPrefix = "verify-"
	nodePoolTag    = "karpenter.sh/nodepool="
)

// Run makes a run. The report is also there when the run ended early, and nil when nothing was tried.
func Run(ctx context.Context, cfg Config) (*report.Report, error) {
	if cfg.Run == "" {
		cfg.Run = NewRun()
	}
	s, err := open(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	fmt.Fprint(cfg.Out, s.describe())
	if cfg.DryRun {
		return nil, nil
	}
	if err := s.confirm(s.describe()); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

func (s *session) confirm(text string) error {
	if s.cfg.Confirm == nil {
		return nil
	}
	agreed, err := s.cfg.Confirm(text)
	if err == nil && !agreed {
		err = ErrDeclined
	}
	return err
}

func (s *session) describe() string {
	where := fmt.Sprintf("%d, LKE %s %s", s.cfg.ClusterID, s.tier(), s.version)
	if s.cfg.ClusterID == 0 {
		where = "of plain Linodes"
	}
	return fmt.Sprintf("cluster   %s in %s\nrun       %s: all that it creates carries the tag and taint %s, or the tag %s%s\n%s",
		where, s.lab.Region, s.cfg.Run, s.lab.Tag(), nodePoolTag, NodePool(s.cfg.Run), s.plan.String())
}

// run runs the experiments and scenarios, and cleans up in every case.
func (s *session) run(ctx context.Context) (r *report.Report, err error) {
	started := time.Now()
	within, cancel := context.WithTimeout(ctx, s.cfg.Bounds.Duration)
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.Join(err, fmt.Errorf("a defect of lkeprobe: panic: %v\n%s", problem, debug.Stack()))
		}
		var stopped string // judged before the clean-up, which takes its own time
		switch {
		case ctx.Err() != nil:
			stopped = "interrupted"
		case within.Err() != nil:
			stopped = "the time was up"
		case err != nil:
			stopped, _, _ = strings.Cut(err.Error(), "\n")
		}
		left := s.cleanUp(ctx)
		r = s.report(started, left, stopped)
		if len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("left behind: %s; run karpenter-linode verify --cluster %d --clean %s", strings.Join(left, ", "),
				s.cfg.ClusterID, s.cfg.Run))
		}
	}()
	return nil, s.steps(within)
}

// steps runs the experiments one after another, and then the scenarios. An experiment that ends without an answer does not stop the
// others. A refused token stops all of them. So does an object that cannot be removed: the plan counts every Linode for its own step
// alone.
func (s *session) steps(ctx context.Context) error {
	for _, e := range s.chosen {
		if ctx.Err() != nil {
			fmt.Fprintf(s.cfg.Out, "%-10s not run: %v\n", e.Name, context.Cause(ctx))
			continue
		}
		if err := s.tidy(ctx); err != nil {
			return err
		}
		if err := s.experiment(ctx, e); err != nil {
			return err
		}
	}
	for _, step := range s.played {
		scenario := report.Scenario{Name: step.Name, Saw: "not run"}
		if err := s.tidy(ctx); err != nil {
			return err
		}
		if ctx.Err() == nil {
			limited, cancel := context.WithTimeout(ctx, step.Limit)
			scenario = s.cfg.Operator.Run(limited, step.Name, s.plan)
			cancel()
		}
		s.note(scenario)
	}
	if len(s.played) > 0 && ctx.Err() == nil {
		s.note(s.nothingLeft(ctx))
	}
	return nil
}

// note takes a scenario into the report.
func (s *session) note(scenario report.Scenario) {
	scenario.Saw = s.public(scenario.Saw)
	s.scenarios = append(s.scenarios, scenario)
	fmt.Fprintf(s.cfg.Out, "%-10s %s in %.0fs: %s\n", scenario.Name, passed(scenario), scenario.Seconds, scenario.Saw)
}

// collected is how long the operator has to remove Linodes that no NodeClaim owns, and empty pools. By default the operator removes
// them after five minutes.
const collected = 12 * time.Minute

// nothingLeft lists the objects that the operator made for the scenarios, until the list is empty.
func (s *session) nothingLeft(ctx context.Context) report.Scenario {
	started := time.Now()
	out := report.Scenario{Name: "nothing-left", Expects: "no LKE pool and no Linode of the run's NodePool is left", Ran: true, Calls: -1}
	ctx, cancel := context.WithTimeout(ctx, collected)
	defer cancel()
	tag := nodePoolTag + NodePool(s.cfg.Run)
	err := s.until(ctx, func() bool {
		pools, err := s.pools(ctx)
		linodes, wrong := linode.Collect(s.lab.Client.ListInstances(ctx, linode.Where("tags").Equal(tag)))
		if errors.Join(err, wrong) != nil {
			return false // the next look may have an answer
		}
		pools = slices.DeleteFunc(pools, func(p api.LKENodePool) bool { return !slices.Contains(p.Tags, tag) })
		out.Saw = fmt.Sprintf("%d LKE pools and %d Linodes", len(pools), len(linodes))
		return len(pools)+len(linodes) == 0
	})
	out.Passed, out.Seconds = err == nil, time.Since(started).Seconds()
	return out
}

func passed(s report.Scenario) string {
	switch {
	case !s.Ran:
		return "not run"
	case s.Passed:
		return "passed"
	}
	return "failed"
}

// tidy removes the pools that an experiment has left, so that the next experiment may request its nodes.
func (s *session) tidy(ctx context.Context) error {
	if s.guard.Asked() == 0 || ctx.Err() != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, plan.Tidying)
	defer cancel()
	if _, left := s.sweep(limited, time.Time{}); len(left) > 0 && ctx.Err() == nil {
		return fmt.Errorf("cannot be removed: %s", strings.Join(left, ", "))
	}
	return nil
}

func (s *session) experiment(ctx context.Context, e experiment.Experiment) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.Limit)
	defer cancel()
	err := e.Run(ctx, s.lab)
	took := time.Since(started).Round(100 * time.Millisecond)
	if err == nil {
		s.lab.Book.Unanswered(e.Name, "the experiment ended without an answer to this question")
		fmt.Fprintf(s.cfg.Out, "%-10s done in %v\n", e.Name, took)
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the time was up after %v", took)
	}
	reason := s.public(err.Error())
	s.lab.Book.Unanswered(e.Name, reason)
	fmt.Fprintf(s.cfg.Out, "%-10s ended after %v: %s\n", e.Name, took, reason)
	if refusedToken(err) {
		return fmt.Errorf("the API refused the token: %w", err)
	}
	return nil
}

// Clean removes the objects that killed runs left in the cluster. It returns the number of pools removed.
func Clean(ctx context.Context, cfg Config) (int, error) {
	s, err := open(cfg)
	if err != nil {
		return 0, err
	}
	if err := s.discover(ctx); err != nil {
		return 0, err
	}
	pools, err := s.pools(ctx)
	if err != nil {
		return 0, s.explained(err)
	}
	var text strings.Builder
	n := 0
	for _, p := range pools {
		if owned := s.ownedPool(p); owned != "" {
			n++
			fmt.Fprintf(&text, "pool %d, %d x %s, %s\n", p.ID, p.Count, p.Type, owned)
		}
	}
	watch := cmp.Or(cfg.Watch, watchLate)
	fmt.Fprintf(&text, "deletes these %d pools with their nodes, any that show within %v, and what the operator made for the run\n", n,
		watch)
	fmt.Fprint(cfg.Out, text.String())
	if err := s.confirm(text.String()); err != nil {
		return 0, err
	}
	var left []string
	if cfg.Operator != nil {
		left = cfg.Operator.Remove(ctx)
	}
	removed, remaining := s.sweep(ctx, time.Now().Add(watch))
	if left = append(left, remaining...); len(left) > 0 {
		return removed, fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	s.forget(ctx)
	return removed, ctx.Err()
}

// check names the error in a configuration.
func (c Config) check() error {
	switch {
	case c.ClusterID < 0 || c.ClusterID == 0 && c.Region == "":
		return fmt.Errorf("--cluster is %d; it must be the ID of an LKE cluster", c.ClusterID)
	case c.Run != "" && !runID.MatchString(c.Run):
		return fmt.Errorf("the run is %q; it must have 6 to 12 lower case letters and digits", c.Run)
	case c.Access.Token == "":
		return errors.New("LINODE_TOKEN is empty; it must be a token with lke:read_write and linodes:read_write")
	}
	return nil
}

// watchLate is how long after a creation without an answer the clean-up looks for the pool. A pool that appears even later would be
// billed until the account's owner sees it. The operator assumes that a write takes effect within two minutes, and a list may lag by
// two minutes.
const watchLate = 10 * time.Minute

// cleanUp sweeps again after a panic: a defect must not leave anything behind.
func (s *session) cleanUp(ctx context.Context) (left []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plan.CleanUp)
	defer cancel()
	fmt.Fprintln(s.cfg.Out, "cleaning up")
	for range 3 {
		var ended bool
		if left, ended = s.removeAll(ctx); ended {
			break
		}
	}
	return left
}

func (s *session) removeAll(ctx context.Context) (left []string, ended bool) {
	defer func() {
		if problem := recover(); problem != nil {
			left, ended = []string{fmt.Sprintf("unknown (perhaps every object): clean-up panicked: %v", problem)}, false
		}
	}()
	if s.cfg.Operator != nil && len(s.played) > 0 {
		left = s.cfg.Operator.Remove(ctx)
	}
	until := s.guard.Lost()
	if !until.IsZero() {
		until = until.Add(watchLate)
	}
	removed, remaining := s.sweep(ctx, until)
	if left = append(left, remaining...); len(left) == 0 {
		s.forget(ctx)
	}
	fmt.Fprintf(s.cfg.Out, "%d pools removed, %d objects left\n", removed, len(left))
	return left, true
}
