// Package faults makes the simulated Linode account of a running local cluster fail as a real account does, in one way at
// a time, and mends it again.
//
// It is called by cmd/localcluster (`make break`). Another process runs the cluster, so the package sends everything over
// HTTP: to the simulator's admin interface, and actions of the account's owner to the API itself. A file in the folder of
// the cluster's state has the changes to undo, so mending ends only the faults of this package and leaves the profile's
// own faults in force. docs/breaking.md walks through all faults.
//
// One fault is in force at a time. An unknown name is an error that lists the names. If mending fails, the record of the fault stays, and
// the next call tries again.
//
// Only no-capacity and silent-capacity have a plan (PLAN); with every other fault PLAN is an error.
package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// Target is the cluster whose account is broken.
type Target struct {
	API, Admin string // base URLs
	Token      string
	ClusterID  int
	Record     string // file that holds the present fault
}

// Settings narrow a fault down.
type Settings struct {
	Plan string // whose capacity is gone; "" = the plan that the tour's pods get, "all" = any
}

// Mended is the name that ends a fault.
const Mended = "none"

// Fault is one way to break the account.
type Fault struct {
	Name  string
	What  string // what happens, as a sentence without the full stop
	Watch string // commands that show it
	begin func(context.Context, *session) error
}

// Faults returns all faults in the order of the tour, docs/breaking.md.
func Faults() []Fault {
	return []Fault{
		{"no-capacity", "LKE has no capacity for a plan (PLAN=g6-standard-6, PLAN=all)",
			"kubectl get events --field-selector reason=InsufficientCapacity", noCapacity},
		{"account-limit", "the account has reached its limit of Linodes", "kubectl get events --field-selector reason=AccountLimitReached",
			accountLimit},
		{"silent-capacity", "LKE Enterprise accepts nodes of a plan but creates none (PLAN=g6-standard-6, PLAN=all)",
			"kubectl get nodeclaims --watch", silentCapacity},
		{"api-down", "the Linode API drops every connection", "kubectl describe nodeclaims", rule(`{"drop":true}`)},
		{"slow-api", "the Linode API takes three seconds for each answer", "make logs", rule(`{"delay":"3s"}`)},
		{"late-writes", "every second write is answered 504 and takes effect half a minute later", "kubectl get nodeclaims --watch",
			rule(`{"kind":"writes","status":504,"late":"30s","probability":0.5}`)},
		{"missing-objects", "for 3 seconds at a time, every read of one object is a 404 although the object exists",
			"kubectl get nodeclaims --watch",
			rule(`{"kind":"reads","status":404,"reason":"Not found","probability":0.05,"for":"3s"}`)},
		{"recycled-node", "an owner of the account recycles Karpenter's newest node in the Cloud Manager", "kubectl get nodes --watch",
			recycledNode},
		{"revoked-token", "the Linode API refuses the token", "make status; kubectl describe nodeclaims",
			rule(`{"status":401,"reason":"Invalid Token"}`)},
	}
}

// Names returns the names of all faults.
func Names() []string {
	var all []string
	for _, f := range Faults() {
		all = append(all, f.Name)
	}
	return all
}

// record has the changes to the simulator and how to undo them.
type record struct {
	Name       string         `json:"name"`
	Rules      []int          `json:"rules,omitempty"`
	Conditions map[string]any `json:"conditions,omitempty"` // to set, to undo the fault
}

// Break mends the present fault and then breaks the account in the named way. It returns the fault and a text with details
// of the change, such as the plan.
func Break(ctx context.Context, target Target, name string, settings Settings) (Fault, string, error) {
	fault, err := find(name)
	if err != nil {
		return Fault{}, "", err
	}
	if settings.Plan != "" && name != "no-capacity" && name != "silent-capacity" {
		return Fault{}, "", fmt.Errorf("break: PLAN is %q; only no-capacity and silent-capacity have a plan", settings.Plan)
	}
	if _, err := Mend(ctx, target); err != nil {
		return Fault{}, "", err
	}
	s := &session{Target: target, settings: settings, did: record{Name: name}}
	if err := fault.begin(ctx, s); err != nil {
		return Fault{}, "", fmt.Errorf("break: %s: %w", name, err)
	}
	if !s.lasting() {
		return fault, s.detail, nil
	}
	content, err := json.Marshal(s.did)
	if err != nil {
		return Fault{}, "", err
	}
	return fault, s.detail, pki.WriteFile(target.Record, content)
}

func find(name string) (Fault, error) {
	for _, f := range Faults() {
		if f.Name == name {
			return f, nil
		}
	}
	return Fault{}, fmt.Errorf("break: NAME is %q; it must be one of %s, or %s to mend", name, strings.Join(Names(), ", "), Mended)
}

// Mend ends the present fault and returns its name; "" = there was no fault.
func Mend(ctx context.Context, target Target) (string, error) {
	did, err := read(target.Record)
	if err != nil || did.Name == "" {
		return "", err
	}
	s := &session{Target: target}
	for _, id := range did.Rules {
		if err := s.admin(ctx, "DELETE", fmt.Sprintf("/rules/%d", id), nil, nil); err != nil {
			return "", fmt.Errorf("mend %s: %w", did.Name, err)
		}
	}
	if len(did.Conditions) > 0 {
		if err := s.admin(ctx, "POST", "/conditions", did.Conditions, nil); err != nil {
			return "", fmt.Errorf("mend %s: %w", did.Name, err)
		}
	}
	return did.Name, os.Remove(target.Record)
}

// Broken is the name of the present fault according to its record; "" = there is no record that can be read.
func Broken(recordFile string) string {
	did, err := read(recordFile)
	if err != nil {
		return ""
	}
	return did.Name
}

func read(file string) (record, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var did record
	if err := json.Unmarshal(content, &did); err != nil {
		return record{}, fmt.Errorf("%s: %w", file, err)
	}
	return did, nil
}
