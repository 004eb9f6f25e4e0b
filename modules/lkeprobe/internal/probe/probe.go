// Package probe settles on a live account, or a simulator, what no source has an
// answer to: how long LKE takes, how far its answers lag, what it refuses and what
// it does in the cases that no source describes. Its program is lkeprobe.
//
// A run has a plan with a price that is shown first, creates node pools in one
// cluster and nothing else, and removes them at its end, however it ends: by
// itself, by a signal (the end of its context), by a panic. Clean removes what a
// killed run left. Every request passes package guard, which lets through
// nothing that is not about the run's own pools.
//
// The packages below have one subject each: plan (what a run may create and
// cost), guard (the audit of requests), lab and experiment (the questions), poll
// (bounds of a measured delay), sweep (removal), notebook and report (answers),
// scrub (what must not be in a report), described (fields), kubenode.
package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/sweep"
)

// tidying bounds the removal between two experiments.
const tidying = 4 * time.Minute

// Access is how the API is reached.
type Access struct {
	Token     string
	BaseURL   string // "" = https://api.linode.com
	CAFile    string
	Transport http.RoundTripper // nil = the network
}

// Bounds limit a run.
type Bounds struct {
	Type     string // plan of the nodes; "" = the cheapest that LKE takes
	Nodes    int    // at once
	Duration time.Duration
	Budget   float64 // dollars
}

// Config of a run or a clean-up.
type Config struct {
	Access    Access
	ClusterID int
	Bounds    Bounds
	Only      []string // names of experiments; none = all
	DryRun    bool
	Nodes     lab.NodeReady                   // nil without a kubeconfig
	Confirm   func(text string) (bool, error) // nil = agreed
	Out       io.Writer                       // progress, for people
	Run       string                          // ID; "" = a random one
	Watch     time.Duration                   // Clean: how long to look for late pools
}

// runID keeps IDs of runs long enough to be in no tag by chance, and short enough
// for a pool's label and the tags that are tried.
var runID = regexp.MustCompile(`^[a-z0-9]{6,12}$`)

// ErrDeclined is the error of a run that its user did not agree to.
var ErrDeclined = errors.New("not agreed to; nothing was created")

// Run makes a run. The report is also there when the run ended early, and nil
// when no request was sent.
func Run(ctx context.Context, cfg Config) (*report.Report, error) {
	if cfg.Run == "" {
		cfg.Run = newID()
	}
	s, err := open(cfg, lab.TagPrefix+cfg.Run)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(cfg.Out, "%s", s.describe())
	if cfg.DryRun {
		return nil, nil
	}
	if err := s.confirm(s.describe()); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

func newID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // does not fail
	return hex.EncodeToString(id[:])
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
	var b strings.Builder
	fmt.Fprintf(&b, "cluster   %d, LKE %s %s in %s\n", s.cfg.ClusterID, s.tier(), s.version, s.lab.Region)
	fmt.Fprintf(&b, "run       %s: all that it creates carries the tag %s\n", s.cfg.Run, s.lab.Tag())
	b.WriteString(s.plan.String())
	return b.String()
}

// run runs the experiments, then cleans up, whatever happened.
func (s *session) run(ctx context.Context) (r *report.Report, err error) {
	started := time.Now()
	within, cancel := context.WithTimeout(ctx, s.cfg.Bounds.Duration)
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.Join(err, fmt.Errorf("a defect of lkeprobe: panic: %v\n%s", problem, stack()))
		}
		why := stopped(ctx, within, err) // before the clean-up, which takes its own time
		left := s.cleanUp(ctx)
		r = s.report(started, left, why)
		if len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("left behind: %s; run lkeprobe clean --cluster %d", strings.Join(left, ", "), s.cfg.ClusterID))
		}
	}()
	return nil, s.experiments(within)
}

func stopped(ctx, within context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case within.Err() != nil:
		return "the time was up"
	case err != nil:
		return strings.SplitN(err.Error(), "\n", 2)[0]
	}
	return ""
}

// experiments runs them one after another. What one cannot find out stops only
// this one; a token that is refused stops all.
func (s *session) experiments(ctx context.Context) error {
	for _, e := range s.chosen {
		if ctx.Err() != nil {
			fmt.Fprintf(s.cfg.Out, "%-10s not run: %v\n", e.Name, context.Cause(ctx))
			continue
		}
		s.tidy(ctx)
		if err := s.experiment(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes what an experiment left that ended early, so that the next one
// has its nodes. What it cannot remove in time is left to the clean-up.
func (s *session) tidy(ctx context.Context) {
	if s.guard.Asked() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidying)
	defer cancel()
	s.sweep(ctx, s.unresolved())
}

// unresolved is how much longer to look for a pool whose creation had no answer.
func (s *session) unresolved() time.Duration {
	if s.lab.Unresolved.IsZero() {
		return 0
	}
	return max(0, lab.Lookup-time.Since(s.lab.Unresolved))
}

func (s *session) experiment(ctx context.Context, e experiment.Experiment) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.Limit)
	defer cancel()
	err := e.Run(ctx, s.lab)
	took := time.Since(started).Round(100 * time.Millisecond)
	if err == nil {
		s.lab.Book.Unanswered(e.Name, "the experiment ended, and this did not come up")
		fmt.Fprintf(s.cfg.Out, "%-10s done in %v\n", e.Name, took)
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the time was up after %v", took)
	}
	reason := s.scrub.Text(err.Error())
	s.lab.Book.Unanswered(e.Name, reason)
	fmt.Fprintf(s.cfg.Out, "%-10s ended after %v: %s\n", e.Name, took, reason)
	if refusedToken(err) {
		return fmt.Errorf("the API refused the token: %w", err)
	}
	return nil
}

// Clean removes what killed runs left in the cluster. It returns the number of
// pools removed.
func Clean(ctx context.Context, cfg Config) (int, error) {
	s, err := open(cfg, "")
	if err != nil {
		return 0, err
	}
	if err := s.discover(ctx); err != nil {
		return 0, err
	}
	pools, err := s.lab.Pools(ctx)
	if err != nil {
		return 0, s.explained(err)
	}
	n := 0
	for _, p := range pools {
		for _, tag := range p.Tags {
			if s.owned(tag) {
				n++
				fmt.Fprintf(cfg.Out, "pool %d, %d x %s, %s\n", p.ID, p.Count, p.Type, tag)
			}
		}
	}
	if err := s.confirm(fmt.Sprintf("deletes these %d pools with their nodes, and any that show within %v\n", n, cfg.Watch)); err != nil {
		return 0, err
	}
	result := s.sweep(ctx, cfg.Watch)
	if len(result.Leftovers) == 0 {
		s.forget(ctx)
	}
	if len(result.Leftovers) > 0 {
		return result.Pools, fmt.Errorf("left behind: %s", strings.Join(result.Leftovers, ", "))
	}
	return result.Pools, ctx.Err()
}

// check names what is wrong in a configuration.
func (c Config) check() error {
	switch {
	case c.ClusterID < 1:
		return fmt.Errorf("--cluster is %d; it must be the ID of an LKE cluster", c.ClusterID)
	case c.Run != "" && !runID.MatchString(c.Run):
		return fmt.Errorf("--run is %q; it must have 6 to 12 lower case letters and digits", c.Run)
	case c.Access.Token == "":
		return errors.New("LINODE_TOKEN is empty; it must be a token with lke:read_write and linodes:read_write")
	case c.Bounds.Nodes < 0:
		return fmt.Errorf("--nodes is %d; it must be positive", c.Bounds.Nodes)
	}
	return nil
}

func (s *session) cleanUp(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), plan.CleanUp)
	defer cancel()
	fmt.Fprintln(s.cfg.Out, "cleaning up")
	result := s.persist(ctx, s.unresolved())
	fmt.Fprintf(s.cfg.Out, "%d pools removed, %d objects left\n", result.Pools, len(result.Leftovers))
	return result.Leftovers
}

// persist sweeps again after a panic: a defect must not leave anything behind.
func (s *session) persist(ctx context.Context, watch time.Duration) (r sweep.Result) {
	for range 3 {
		panicked := true
		func() {
			defer func() {
				if problem := recover(); problem != nil {
					r = sweep.Result{Leftovers: []string{fmt.Sprintf("perhaps all: a defect in clean-up: %v", problem)}}
				}
			}()
			if r = s.sweep(ctx, watch); len(r.Leftovers) == 0 {
				s.forget(ctx)
			}
			panicked = false
		}()
		if !panicked {
			break
		}
	}
	return r
}
