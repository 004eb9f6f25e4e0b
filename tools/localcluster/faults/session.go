package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

const (
	requestTimeout = 10 * time.Second
	// tourPlan is the cheapest plan that holds the five pods of docs/examples/inflate.yaml.
	tourPlan = "g6-standard-6"
	anyPlan  = "all"
)

// session is one use of a Target.
type session struct {
	Target
	settings Settings
	did      record
	detail   string // details of the change, for the user
}

// lasting reports whether the fault made a change that Mend has to undo.
func (s *session) lasting() bool { return len(s.did.Rules) > 0 || len(s.did.Conditions) > 0 }

// rule adds a fault rule to the simulator. The text is the rule in the form of the simulator's admin interface.
func rule(text string) func(context.Context, *session) error {
	return func(ctx context.Context, s *session) error {
		var added struct {
			ID int `json:"id"`
		}
		if err := s.admin(ctx, http.MethodPost, "/rules", json.RawMessage(text), &added); err != nil {
			return err
		}
		s.did.Rules = append(s.did.Rules, added.ID)
		return nil
	}
}

func noCapacity(ctx context.Context, s *session) error { return withoutCapacity(ctx, s, false) }

// silentCapacity makes LKE accept nodes that never come, as LKE Enterprise does without capacity; see linodesim.NoCapacity.
func silentCapacity(ctx context.Context, s *session) error { return withoutCapacity(ctx, s, true) }

func withoutCapacity(ctx context.Context, s *session, silent bool) error {
	plan := s.settings.Plan
	switch plan {
	case "":
		plan = tourPlan
	case anyPlan:
		plan = ""
	}
	s.detail = "plan: " + plan
	if plan == "" {
		s.detail = "plan: any"
	}
	s.did.Conditions = map[string]any{"restore_capacity": true}
	return s.admin(ctx, http.MethodPost, "/conditions", map[string]any{"no_capacity": map[string]any{"type": plan, "silent": silent}}, nil)
}

func accountLimit(ctx context.Context, s *session) error {
	state, err := s.state(ctx)
	if err != nil {
		return err
	}
	limit := len(state.Instances)
	s.detail = fmt.Sprintf("limit: %d Linodes", limit)
	s.did.Conditions = map[string]any{"account_limit": 0}
	return s.admin(ctx, http.MethodPost, "/conditions", map[string]any{"account_limit": limit}, nil)
}

// recycledNode does the same as the Cloud Manager's button. LKE makes a node in the place of the recycled one.
func recycledNode(ctx context.Context, s *session) error {
	state, err := s.state(ctx)
	if err != nil {
		return err
	}
	node, found := newestClaimed(state, s.ClusterID)
	if !found {
		return errors.New("there is no node of Karpenter: scale a Deployment up first")
	}
	s.detail = "node: " + node.Name()
	client, err := linode.New(linode.Config{Token: linode.StaticToken(s.Token), BaseURL: s.API, Timeout: requestTimeout})
	if err != nil {
		return err
	}
	return client.RecycleNode(ctx, s.ClusterID, node.ID)
}

// newestClaimed is the node that joined last among the nodes whose Linode has a NodeClaim.
func newestClaimed(state linodesim.State, clusterID int) (linodesim.Node, bool) {
	claimed := map[int]bool{}
	for _, i := range state.Instances {
		claimed[i.ID] = slices.ContainsFunc(i.Tags, func(tag string) bool { return strings.Contains(tag, "/nodeclaim=") })
	}
	var newest linodesim.Node
	for _, c := range state.Clusters {
		if c.ID != clusterID {
			continue
		}
		for _, p := range c.Pools {
			for _, n := range p.Nodes {
				if claimed[n.InstanceID] && n.Status == linodesim.Ready && n.JoinedAt.After(newest.JoinedAt) {
					newest = n
				}
			}
		}
	}
	return newest, newest.ID != ""
}

func (s *session) state(ctx context.Context) (linodesim.State, error) {
	var state linodesim.State
	return state, s.admin(ctx, http.MethodGet, "/state", nil, &state)
}

// admin calls the simulator's admin interface.
func (s *session) admin(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.Admin+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // if this fails, the error has the status alone
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, strings.TrimSpace(string(text)))
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
