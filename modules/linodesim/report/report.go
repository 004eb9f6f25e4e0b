// Package report declares the report of a run of `karpenter-linode verify`: assumptions and facts with verdicts, what the operator did,
// measured delays, switches, the record of the run's own requests. Its JSON form has a version, Schema; readers refuse other versions.
// docs/verify-measures.md describes it. The type is here, and not with the program that fills it, because the simulator reads it as a
// Profile and a Behaviour.
//
// Durations are milliseconds, times are relative to the start of the run, and nothing in a report names an account.
//
// Read refuses another schema, a report without delays, and a delay whose bounds are impossible. Callers: lkeprobe writes a report,
// linodesim reads it as a profile, and the local cluster's profiles may be such a file.
//
// Each Assumption can be broken on request by the simulator (Sim.Lie), so that tests show that a run notices it. There are thirteen.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Schema is the version of the JSON form. It changes when a field changes its
// meaning or goes; new fields do not change it.
const Schema = "verify/1"

// Verdict on a fact.
type Verdict string

// Verdicts.
const (
	AsExpected Verdict = "as expected"
	Differs    Verdict = "differs"     // from what was expected
	Settled    Verdict = "settled"     // was unknown
	NotSettled Verdict = "not settled" // the experiment ended without an answer
	NotRun     Verdict = "not run"
)

// Fact is one question with its answer.
type Fact struct {
	Experiment string  `json:"experiment"`
	ID         string  `json:"id"`
	Question   string  `json:"question"`
	Expected   string  `json:"expected"` // "unknown" where no source has it
	Seen       string  `json:"seen"`
	Verdict    Verdict `json:"verdict"`
}

// Sample is one measured delay: it was in this range.
type Sample struct {
	AtLeast int64 `json:"at_least_ms"`
	AtMost  int64 `json:"at_most_ms"`
}

// Delay names. Each is measured any number of times in a run.
const (
	Request       = "request"         // answering one read
	NodeEntry     = "node_entry"      // from a node's request to its entry in the pool's nodes[]
	InstanceID    = "instance_id"     // from a node's request to instance_id in its entry
	LinodeListed  = "linode_listed"   // from a node's request to its Linode in the list
	LinodeTagged  = "linode_tagged"   // Enterprise: from a Linode being listed to LKE's tags on it
	Ready         = "ready"           // from the instance ID to status ready of the entry
	NodeReady     = "node_ready"      // from the instance ID to condition Ready of the Kubernetes Node
	Gone          = "gone"            // from deleting a node to a 404 for its Linode
	Repair        = "repair"          // from deleting a Linode directly to LKE replacing its node
	PoolReadLag   = "pool_read_lag"   // from a change of a pool to a read of the pool that has it
	PoolListLag   = "pool_list_lag"   // the same for the list of pools
	LinodeReadLag = "linode_read_lag" // from a change of a Linode to a read of the Linode that has it
	LinodeListLag = "linode_list_lag" // the same for the list of Linodes
	LateEffect    = "late_effect"     // from a creation without an answer to the pool showing
	BurstID       = "burst_id"        // from the request of one of 20 pools to its Linode's ID
)

// Switch names and values: which of several possible behaviours the API has.
const (
	LostLinode         = "lost_linode" // recreated, left
	LastNode           = "last_node"   // pool kept, pool removed, refused
	ZeroCount          = "zero_count"  // accepted, refused
	ReservedTaintKeys  = "reserved_taint_keys"
	PoolFilter         = "pool_filter"   // honoured, ignored, refused
	UnlistedNode       = "unlisted_node" // found, not found
	PageBeyondEnd      = "page_beyond_end"
	LabelForm          = "label_form"
	ValueRecreated     = "recreated"
	ValueLeft          = "left"
	ValuePoolKept      = "pool kept"
	ValuePoolRemoved   = "pool removed"
	ValueRefused       = "refused"
	ValueAccepted      = "accepted"
	ValueHonoured      = "honoured"
	ValueIgnored       = "ignored"
	ValueFound         = "found"
	ValueNotFound      = "not found"
	ValueEmptyPage     = "empty page"
	ValueLKELabel      = "lke<cluster>-<pool>-<12 hex digits>"
	ValueUnknownPrefix = "other: "
)

// Report is one run.
type Report struct {
	Schema     string              `json:"schema"`
	Tool       string              `json:"tool"`
	Day        string              `json:"day"` // UTC
	TookMS     int64               `json:"took_ms"`
	Cluster    Cluster             `json:"cluster"`
	Plan       Plan                `json:"plan"`
	Judgements []Judgement         `json:"assumptions"`
	Scenarios  []Scenario          `json:"operator"`
	Facts      []Fact              `json:"facts"`
	Delays     map[string][]Sample `json:"delays"`
	Switches   map[string]string   `json:"switches"`
	RateLimits []RateLimit         `json:"rate_limits"`
	Audit      Audit               `json:"audit"`
}

// Cluster describes the cluster of the run.
type Cluster struct {
	Tier       string `json:"tier"`
	Region     string `json:"region"`
	K8sVersion string `json:"k8s_version"`
}

// Plan holds the bounds of the run.
type Plan struct {
	Type    string  `json:"type"`
	Nodes   int     `json:"nodes"`
	Linodes int     `json:"linodes"`
	Minutes float64 `json:"minutes"`
	MaxCost float64 `json:"max_cost_dollars"`
}

// RateLimit holds the limits that the headers of one route's answers announced. Empty strings
// are headers that were not there.
type RateLimit struct {
	Method  string `json:"method"`
	Route   string `json:"route"`
	Answers int    `json:"answers"`
	Limit   string `json:"limit"`
}

// Audit is the record of the run's own requests.
type Audit struct {
	Requests  int            `json:"requests"`
	Writes    []Write        `json:"writes"`
	Foreign   int            `json:"foreign_writes"` // writes to anything that is not the run's: always 0
	Refused   []string       `json:"refused_by_guard"`
	Anomalies map[string]int `json:"anomalies"` // contradictions between answers
	Leftovers []string       `json:"leftovers"` // what clean-up could not remove
	Stopped   string         `json:"stopped"`   // why the run ended early; "" = it did not
}

// Write is one change that was requested.
type Write struct {
	AfterMS int64  `json:"after_ms"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Status  int    `json:"status"`
}

// Range returns the least and the greatest middle of a delay's samples. Example: samples of 2 to 4 s and of 5 to 9 s give 3 s and 7 s.
// ok is false without samples.
func (r *Report) Range(delay string) (least, most time.Duration, ok bool) {
	for i, s := range r.Delays[delay] {
		middle := time.Duration(s.AtLeast+s.AtMost) * time.Millisecond / 2
		if i == 0 || middle < least {
			least = middle
		}
		most = max(most, middle)
	}
	return least, most, len(r.Delays[delay]) > 0
}

// Write writes the JSON form.
func (r *Report) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Read reads the JSON form and checks what a reader relies on.
func Read(from io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return nil, fmt.Errorf("the report is not JSON of schema %s: %w", Schema, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("the report's schema is %q; this program reads %q", r.Schema, Schema)
	}
	for name, samples := range r.Delays {
		for i, s := range samples {
			if s.AtLeast < 0 || s.AtMost < s.AtLeast {
				return nil, fmt.Errorf("delays.%s[%d] is %d to %d ms; the first must be at least 0 and at most the second", name, i, s.AtLeast,
					s.AtMost)
			}
			if s.AtMost > int64(24*time.Hour/time.Millisecond) {
				return nil, fmt.Errorf("delays.%s[%d] is longer than a day: %d ms", name, i, s.AtMost)
			}
		}
	}
	if len(r.Delays) == 0 {
		return nil, errors.New("the report has no delays; it must have at least one measured delay")
	}
	return &r, nil
}
