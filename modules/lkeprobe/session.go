package lkeprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/guard"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

// attemptTimeout bounds one request. A request without an answer by then is sent again, or its effect is looked up.
const attemptTimeout = 15 * time.Second

// needed are the scopes without which a run cannot work.
var needed = []string{"lke:read_write", "linodes:read_write"}

// session is one run, or one clean-up.
type session struct {
	cfg       Config
	guard     *guard.Guard
	lab       *experiment.Lab
	plan      plan.Plan
	chosen    []experiment.Experiment
	played    []plan.Step
	scenarios []report.Scenario
	version   string
}

func open(cfg Config) (*session, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &session{cfg: cfg}
	transport := cfg.Access.Transport
	if transport == nil {
		var err error
		if transport, err = linode.NewTransport(cfg.Access.CAFile); err != nil {
			return nil, err
		}
	}
	s.guard = guard.New(transport, guard.Rule{ClusterID: cfg.ClusterID, Owned: s.owned, OwnTag: s.ownTag})
	client, err := linode.New(linode.Config{
		Token: linode.StaticToken(cfg.Access.Token), BaseURL: cfg.Access.BaseURL, APIVersion: "v4beta", Transport: s.guard,
		Timeout: attemptTimeout, UserAgent: "karpenter-linode-verify (https://github.com/karpenter-linode/karpenter-linode)",
	})
	if err != nil {
		return nil, err
	}
	s.lab = &experiment.Lab{
		Client: client, Raw: s.raw, Unanswered: s.guard.Unanswered, Nodes: cfg.Nodes, ClusterID: cfg.ClusterID, Run: cfg.Run,
		Book: experiment.NewBook(nil),
	}
	return s, nil
}

// owned recognizes the tags of the session's pools, including pools that the operator made for it, and their taint as
// KEY=VALUE. Without a run's ID it recognizes the pools of all runs.
func (s *session) owned(tag string) bool {
	if s.cfg.Run == "" {
		return strings.HasPrefix(tag, experiment.TagPrefix) || strings.HasPrefix(tag, nodePoolTag+nodePoolPrefix) &&
			runID.MatchString(strings.TrimPrefix(tag, nodePoolTag+nodePoolPrefix))
	}
	return tag == experiment.TagPrefix+s.cfg.Run || tag == nodePoolTag+NodePool(s.cfg.Run)
}

// ownedPool returns the tag or taint that makes a pool the session's, or "".
func (s *session) ownedPool(p api.LKENodePool) string {
	marks := slices.Clone(p.Tags)
	for _, t := range p.Taints {
		marks = append(marks, t.Key+"="+t.Value)
	}
	if at := slices.IndexFunc(marks, s.owned); at >= 0 {
		return marks[at]
	}
	return ""
}

// ownTag recognizes a tag that only a run can have made: the prefix of all runs, or the run's ID in it.
func (s *session) ownTag(tag string) bool {
	return strings.HasPrefix(tag, "lkeprobe-") || s.cfg.Run != "" && strings.Contains(tag, s.cfg.Run)
}

// prepare reads what the plan needs, and creates nothing.
func (s *session) prepare(ctx context.Context) error {
	if err := s.discover(ctx); err != nil {
		return err
	}
	if err := s.lacking(); err != nil {
		return err
	}
	if err := s.sameCluster(ctx); err != nil {
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
	if err := s.choose(); err != nil {
		return err
	}
	in := plan.Input{
		Region: s.lab.Region, Type: s.cfg.Bounds.Type, Types: types, Availability: availability,
		Duration: s.cfg.Bounds.Duration, Budget: s.cfg.Bounds.Budget,
	}
	var questions []experiment.Question
	for _, e := range s.chosen {
		in.Steps = append(in.Steps, e.Step)
		questions = append(questions, e.Questions...)
	}
	own := len(in.Steps)
	in.Steps = append(in.Steps, s.played...)
	if s.plan, err = plan.Make(in); err != nil {
		return err
	}
	s.lab.Type, s.lab.MemoryMB, s.lab.Book = s.plan.Type, s.plan.MemoryMB, experiment.NewBook(questions)
	rule := guard.Rule{
		ClusterID: s.cfg.ClusterID, Tag: s.lab.Tag(), Owned: s.owned, OwnTag: s.ownTag, Plans: []string{s.plan.Type, plan.NanodePlan},
	}
	for _, step := range in.Steps[:own] {
		rule.Nodes, rule.Linodes = max(rule.Nodes, step.Nodes), rule.Linodes+step.Linodes+step.Nanodes
	}
	s.guard.Allow(rule)
	return nil
}

// choose picks the experiments and scenarios that Only names.
func (s *session) choose() error {
	var known []experiment.Experiment // a cluster of plain Linodes has no experiments
	if s.cfg.ClusterID != 0 {
		known = experiment.All(s.lab.Enterprise)
	}
	var names []string
	wanted := func(name string) bool {
		names = append(names, name)
		return len(s.cfg.Only) == 0 || slices.Contains(s.cfg.Only, name)
	}
	for _, e := range known {
		if wanted(e.Name) {
			s.chosen = append(s.chosen, e)
		}
	}
	if s.cfg.Operator != nil {
		for _, step := range s.cfg.Operator.Steps() {
			if wanted(step.Name) {
				s.played = append(s.played, step)
			}
		}
	}
	for _, n := range s.cfg.Only {
		if !slices.Contains(names, n) {
			return fmt.Errorf("--only names %q; known names: %s", n, strings.Join(names, ", "))
		}
	}
	return nil
}

// discover reads the cluster.
func (s *session) discover(ctx context.Context) error {
	if s.lab.Region = s.cfg.Region; s.cfg.ClusterID == 0 {
		return nil
	}
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

// sameCluster refuses a kubeconfig of another cluster: its Nodes would be taken for this one's.
func (s *session) sameCluster(ctx context.Context) error {
	if s.cfg.Nodes == nil || s.cfg.ClusterID == 0 {
		return nil
	}
	nodes, err := s.cfg.Nodes.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("the Nodes of the kubeconfig's cluster cannot be read: %w", err)
	}
	linodes, err := s.lab.Linodes(ctx)
	if err != nil {
		return s.explained(err)
	}
	for _, node := range nodes {
		if slices.ContainsFunc(linodes, func(i api.Instance) bool { return i.ID == node.LinodeID }) {
			return nil
		}
	}
	return fmt.Errorf("the kubeconfig's cluster has %d Nodes, and none of them is a Linode of LKE cluster %d; choose another context",
		len(nodes), s.cfg.ClusterID)
}

// pools lists the cluster's pools; a cluster of plain Linodes has none.
func (s *session) pools(ctx context.Context) ([]api.LKENodePool, error) {
	if s.cfg.ClusterID == 0 {
		return nil, nil
	}
	return s.lab.Pools(ctx)
}

func (s *session) tier() string {
	if s.cfg.ClusterID == 0 {
		return ""
	}
	return string(s.lab.Tier())
}

// lacking returns an error that names the scope that the token lacks, as far as answers show.
func (s *session) lacking() error {
	for _, e := range s.guard.Entries() {
		if e.Scopes == "" {
			continue
		}
		have := strings.FieldsFunc(e.Scopes, func(c rune) bool { return c == ' ' || c == ',' })
		for _, scope := range needed {
			area, _, _ := strings.Cut(scope, ":")
			if !slices.ContainsFunc(have, func(h string) bool { return h == "*" || h == scope || h == area+":*" }) {
				return fmt.Errorf("LINODE_TOKEN lacks the scope %s; it has %s; nothing was created", scope, strings.Join(have, " "))
			}
		}
	}
	return nil
}

// explained adds to an error what to do about the token.
func (s *session) explained(err error) error {
	switch linode.KindOf(err) {
	case linode.KindUnauthorized:
		return fmt.Errorf("the API does not accept LINODE_TOKEN: %w", err)
	case linode.KindForbidden:
		return fmt.Errorf("LINODE_TOKEN needs the scopes lke:read_write and linodes:read_write: %w", err)
	}
	return err
}

// refusedToken reports whether the API refused the token. A refusal of the guard does not count.
func refusedToken(err error) bool {
	e, ok := errors.AsType[*linode.Error](err)
	if !ok {
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
		return 0, errors.New("the path " + path + " is not valid")
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

// forget deletes the run's tags from the account's list. It needs a right that the rest of the run does not need.
// Without that right, the tags stay until Linode purges unused tags.
func (s *session) forget(ctx context.Context) {
	_, _, tags := s.guard.Owned()
	for _, tag := range tags {
		err := s.lab.Client.DeleteTag(ctx, tag)
		if err != nil && linode.KindOf(err) != linode.KindNotFound {
			fmt.Fprintf(s.cfg.Out, "unused tags of the run stay in the account's list until Linode purges them: %s\n", s.public(err.Error()))
			return
		}
	}
}

// private are texts that may name an account or its objects.
var private = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`), "<mail>"},
	{regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`), "<address>"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{1,4}(:[0-9a-f]{0,4}){3,7}\b`), "<address>"},
	{regexp.MustCompile(`\d+-[0-9a-f]{12}\b`), "<node>"},
	{regexp.MustCompile(`https?://[^\s":]+`), "<url>"},
	{regexp.MustCompile(`\d{5,}`), "<n>"},
}

// public returns a text without the parts that could identify the account.
func (s *session) public(text string) string {
	text = strings.ReplaceAll(text, s.cfg.Access.Token, "<token>")
	for _, p := range private {
		text = p.pattern.ReplaceAllString(text, p.word)
	}
	return text
}
