package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/described"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/notebook"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/scrub"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/sweep"
)

// attemptTimeout bounds one request: an answer that takes longer is requested
// again, or looked up.
const attemptTimeout = 15 * time.Second

// session is one run, or one clean-up.
type session struct {
	cfg     Config
	guard   *guard.Guard
	lab     *lab.Lab
	plan    plan.Plan
	chosen  []experiment.Experiment
	scrub   *scrub.Scrubber
	fields  *described.Checker
	record  *record
	version string
}

// open makes a session. The tag is that of the run's pools; without one, those
// of all runs, or of the run that is named, are its own, and none is created.
func open(cfg Config, tag string) (*session, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	fields, err := described.New()
	if err != nil {
		return nil, err
	}
	s := &session{cfg: cfg, fields: fields, record: newRecord()}
	s.scrub = scrub.New([]string{cfg.Access.Token}, append(experiment.Words(), tag))
	transport := cfg.Access.Transport
	if transport == nil {
		if transport, err = network(cfg.Access.CAFile); err != nil {
			return nil, err
		}
	}
	s.guard = guard.New(transport, guard.Rule{ClusterID: cfg.ClusterID, Owned: s.owned, OwnTag: s.ownTag}, s.hear)
	client, err := linode.New(linode.Config{
		Token: linode.StaticToken(cfg.Access.Token), BaseURL: cfg.Access.BaseURL, APIVersion: "v4beta", Transport: s.guard,
		Timeout: attemptTimeout, UserAgent: "lkeprobe (https://github.com/karpenter-linode/karpenter-linode)",
	})
	if err != nil {
		return nil, err
	}
	s.lab = &lab.Lab{Client: client, Raw: s.raw, Nodes: cfg.Nodes, ClusterID: cfg.ClusterID, Run: cfg.Run, Book: notebook.New(nil)}
	return s, nil
}

// owned recognizes the tag of the session's pools.
func (s *session) owned(tag string) bool {
	if s.cfg.Run == "" {
		return strings.HasPrefix(tag, lab.TagPrefix)
	}
	return tag == lab.TagPrefix+s.cfg.Run
}

// ownTag recognizes a tag that only the probe can have made: its own prefix, or
// the run's ID in it.
func (s *session) ownTag(tag string) bool {
	return strings.HasPrefix(tag, "lkeprobe-") || s.cfg.Run != "" && strings.Contains(tag, s.cfg.Run)
}

// hear takes in every answer.
func (s *session) hear(x guard.Exchange) {
	s.fields.Note(x.Method, x.Path, x.Status, x.Response)
	s.record.note(s.fields.Route(x.Path), x, s.cfg.ClusterID)
	s.scrub.Bytes(x.Path, x.Request)
	s.scrub.Bytes(x.Path, x.Response)
}

// prepare reads what the plan needs, and creates nothing.
func (s *session) prepare(ctx context.Context) error {
	if err := s.discover(ctx); err != nil {
		return err
	}
	if err := s.record.lacking(); err != nil {
		return err
	}
	types, err := linode.Collect(s.lab.Client.ListTypes(ctx, linode.Filter{}))
	if err != nil {
		return s.explained(err)
	}
	availability, err := s.lab.Client.RegionAvailability(ctx, s.lab.Region)
	if err != nil {
		return s.explained(err)
	}
	if s.chosen, err = experiment.Choose(experiment.All(s.lab.Enterprise), s.cfg.Only); err != nil {
		return err
	}
	in := plan.Input{
		Region: s.lab.Region, Type: s.cfg.Bounds.Type, Types: types, Availability: availability, Nodes: s.cfg.Bounds.Nodes,
		Duration: s.cfg.Bounds.Duration, Budget: s.cfg.Bounds.Budget,
	}
	var questions []notebook.Question
	for _, e := range s.chosen {
		in.Steps = append(in.Steps, e.Step)
		questions = append(questions, e.Questions...)
	}
	if s.plan, err = plan.Make(in); err != nil {
		return err
	}
	s.lab.Type, s.lab.Book = s.plan.Type, notebook.New(questions)
	s.guard.Allow(guard.Rule{
		ClusterID: s.cfg.ClusterID, Tag: s.lab.Tag(), Owned: s.owned, OwnTag: s.ownTag, Nodes: s.plan.Nodes,
		Linodes: s.plan.Linodes + s.plan.Nanodes,
		Plans:   []string{s.plan.Type, plan.NanodePlan},
	})
	return nil
}

// discover reads the cluster.
func (s *session) discover(ctx context.Context) error {
	c, err := s.lab.Client.GetCluster(ctx, s.cfg.ClusterID)
	if linode.KindOf(err) == linode.KindNotFound {
		return fmt.Errorf("--cluster is %d; the account has no such LKE cluster", s.cfg.ClusterID)
	}
	if err != nil {
		return s.explained(err)
	}
	s.lab.Region, s.version = c.Region, c.K8SVersion
	s.lab.Enterprise = c.Tier != nil && *c.Tier == api.LKETierEnterprise
	return nil
}

func (s *session) tier() string {
	if s.lab.Enterprise {
		return string(api.LKETierEnterprise)
	}
	return string(api.LKETierStandard)
}

// explained adds what to do about an error of the API.
func (s *session) explained(err error) error {
	switch linode.KindOf(err) {
	case linode.KindUnauthorized:
		return fmt.Errorf("the API does not accept LINODE_TOKEN: %w", err)
	case linode.KindForbidden:
		return fmt.Errorf("LINODE_TOKEN needs the scopes lke:read_write and linodes:read_write: %w", err)
	}
	return err
}

// refusedToken reports whether the API refused the token, and not the guard a
// request.
func refusedToken(err error) bool {
	var e *linode.Error
	if !errors.As(err, &e) {
		return false
	}
	byGuard := slices.ContainsFunc(e.Reasons, func(r linode.Reason) bool { return guard.Refused(r.Reason) })
	return e.Kind == linode.KindUnauthorized || e.Kind == linode.KindForbidden && !byGuard
}

// raw sends a GET that the client has no method for.
func (s *session) raw(ctx context.Context, path string) (int, error) {
	base := strings.TrimRight(s.cfg.Access.BaseURL, "/")
	if base == "" {
		base = "https://api.linode.com"
	}
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/v4beta"), "/v4")
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v4beta"+path, nil)
	if err != nil {
		return 0, errors.New("the path " + path + " makes no request")
	}
	request.Header.Set("Authorization", "Bearer "+s.cfg.Access.Token)
	response, err := s.guard.RoundTrip(request)
	if err != nil {
		return 0, fmt.Errorf("GET %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, err
	}
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500 {
		return 0, fmt.Errorf("GET %s: status %d", path, response.StatusCode)
	}
	return response.StatusCode, nil
}

func (s *session) sweep(ctx context.Context, watch time.Duration) sweep.Result {
	return sweep.Job{API: s.lab, Known: s.guard, ClusterID: s.cfg.ClusterID, Owned: s.owned, Watch: watch}.Run(ctx)
}

// forget deletes the probe's tags from the account's list. It needs a right that
// the rest does not; without it they stay until the API purges unused tags.
func (s *session) forget(ctx context.Context) {
	for _, tag := range s.guard.Tags() {
		err := s.lab.Client.DeleteTag(ctx, tag)
		if err != nil && linode.KindOf(err) != linode.KindNotFound {
			fmt.Fprintf(s.cfg.Out, "unused tags of the run stay in the account's list until Linode purges them: %s\n", s.scrub.Text(err.Error()))
			return
		}
	}
}

func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}
