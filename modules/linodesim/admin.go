package linodesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// Admin is the simulator's control over HTTP, for programs in other languages
// and for people: JSON in and out, no token. Serve it on a port of its own, on
// loopback.
//
//	GET    /state /calls /audit /meters /unknown /violations
//	POST   /rules            a Rule as JSON, durations such as "2s"; answers {"id": 1}
//	DELETE /rules/{id}       ends one rule
//	DELETE /rules            ends all rules and conditions
//	POST   /conditions       {"maintenance": true, "account_limit": 5, "never_boot": 1, "stall": 1, "pool": 855401,
//	                          "no_capacity": {"type": "g6-standard-2", "region": "us-ord"}, "restore_capacity": true}
//	                          pool narrows never_boot and stall; without it they are about any
//	POST   /nodes/{cluster}/{node}/recycle    LKE replaces a node by itself
//	POST   /pools/{cluster}/{pool}/recycle    and all of a pool, one after another
//	DELETE /nodes/{cluster}/{node}   deletes a node by hand
//	POST   /clusters/{cluster}/upgrade   {"k8s_version": "v1.33.6+lke7"}: the control plane only
//	DELETE /instances/{id}   deletes a Linode behind everybody's back
//	PUT    /instances/{id}/tags      ["a", "b"]: an edit by hand
//	POST   /pools/{cluster}/{pool}   an edit by hand of any of {"count": 3, "label": "x", "labels": {}, "tags": [],
//	                          "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
//	                          "autoscaler": {"enabled": true, "min": 1, "max": 3},
//	                          "firewall_id": 1, "k8s_version": "v1.33.6+lke7", "update_strategy": "on_recycle"}
//	DELETE /pools/{cluster}/{pool}   deletes a pool by hand
func (s *Sim) Admin() http.Handler {
	mux := http.NewServeMux()
	show(mux, "state", s.Snapshot)
	show(mux, "calls", s.Calls)
	show(mux, "audit", s.Audit)
	show(mux, "meters", s.Meters)
	show(mux, "unknown", s.Unknown)
	show(mux, "violations", s.Violations)
	mux.HandleFunc("POST /rules", s.adminAddRule)
	mux.HandleFunc("DELETE /rules", func(w http.ResponseWriter, _ *http.Request) { s.HealAll(); done(w, nil) })
	mux.HandleFunc("DELETE /rules/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := number(r, "id")
		s.Heal(RuleID(id))
		done(w, err)
	})
	mux.HandleFunc("POST /conditions", s.adminConditions)
	s.adminHands(mux)
	return mux
}

// adminHands are what the platform and the account's owner do by themselves.
func (s *Sim) adminHands(mux *http.ServeMux) {
	in := func(act func(cluster int, r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			cluster, err := number(r, "cluster")
			if err == nil {
				err = act(cluster, r)
			}
			done(w, err)
		}
	}
	pool := func(act func(cluster, pool int) error) http.HandlerFunc {
		return in(func(cluster int, r *http.Request) error {
			id, err := number(r, "pool")
			if err == nil {
				err = act(cluster, id)
			}
			return err
		})
	}
	linode := func(act func(id int, r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			id, err := number(r, "id")
			if err == nil {
				err = act(id, r)
			}
			done(w, err)
		}
	}
	mux.HandleFunc("POST /nodes/{cluster}/{node}/recycle", in(func(c int, r *http.Request) error { return s.RecycleNode(c, r.PathValue("node")) }))
	mux.HandleFunc("DELETE /nodes/{cluster}/{node}", in(func(c int, r *http.Request) error { return s.DeleteNode(c, r.PathValue("node")) }))
	mux.HandleFunc("POST /pools/{cluster}/{pool}/recycle", pool(s.RecyclePool))
	mux.HandleFunc("DELETE /pools/{cluster}/{pool}", pool(s.DeletePool))
	mux.HandleFunc("POST /pools/{cluster}/{pool}", s.adminEditPool)
	mux.HandleFunc("POST /clusters/{cluster}/upgrade", in(func(c int, r *http.Request) error {
		var q struct {
			K8sVersion string `json:"k8s_version"`
		}
		if err := decode(r, &q); err != nil {
			return err
		}
		return s.UpgradeCluster(c, q.K8sVersion)
	}))
	mux.HandleFunc("DELETE /instances/{id}", linode(func(id int, _ *http.Request) error { return s.DeleteInstance(id) }))
	mux.HandleFunc("PUT /instances/{id}/tags", linode(func(id int, r *http.Request) error {
		var tags []string
		if err := decode(r, &tags); err != nil {
			return err
		}
		return s.EditInstanceTags(id, tags)
	}))
}

// ruleRequest is a Rule in JSON.
type ruleRequest struct {
	Kind        Kind    `json:"kind"`
	Method      string  `json:"method"`
	Route       string  `json:"route"`
	Nth         int     `json:"nth"`
	Times       int     `json:"times"`
	Probability float64 `json:"probability"`
	Delay       wait    `json:"delay"`
	Status      int     `json:"status"`
	Reason      string  `json:"reason"`
	Field       string  `json:"field"`
	RetryAfter  wait    `json:"retry_after"`
	HTML        bool    `json:"html"`
	Drop        bool    `json:"drop"`
	AfterEffect bool    `json:"after_effect"`
	Hang        bool    `json:"hang"`
	Stale       wait    `json:"stale"`
	Missing     int     `json:"missing"`
	Shift       int     `json:"shift"`
	NoEffect    bool    `json:"no_effect"`
	UpTo        bool    `json:"up_to"`

	Header map[string]string `json:"header"`
}

// wait is a duration written as text, such as 1.5s.
type wait struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *wait) UnmarshalText(text []byte) (err error) {
	w.Duration, err = time.ParseDuration(string(text))
	return err
}

func (s *Sim) adminAddRule(w http.ResponseWriter, r *http.Request) {
	var q ruleRequest
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	header := http.Header{}
	for name, value := range q.Header {
		header.Set(name, value)
	}
	rule := Rule{
		Header: header,
		Kind:   q.Kind, Method: q.Method, Route: q.Route, Nth: q.Nth, Times: q.Times, Probability: q.Probability, Delay: q.Delay.Duration,
		Status: q.Status, Reason: q.Reason, Field: q.Field, RetryAfter: q.RetryAfter.Duration, HTML: q.HTML, Drop: q.Drop,
		AfterEffect: q.AfterEffect, Hang: q.Hang, Stale: q.Stale.Duration, Missing: q.Missing, Shift: q.Shift,
		NoEffect: q.NoEffect, UpTo: q.UpTo,
	}
	if err := rule.Check(); err != nil {
		done(w, err)
		return
	}
	send(w, http.StatusOK, map[string]any{"id": s.Fail(rule)})
}

func (s *Sim) adminConditions(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Maintenance  *bool `json:"maintenance"`
		AccountLimit *int  `json:"account_limit"`
		NeverBoot    *int  `json:"never_boot"`
		Stall        *int  `json:"stall"`
		Pool         int   `json:"pool"`
		Restore      bool  `json:"restore_capacity"`
		NoCapacity   *struct {
			Type   string `json:"type"`
			Region string `json:"region"`
			Status int    `json:"status"`
			Reason string `json:"reason"`
		} `json:"no_capacity"`
	}
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	if q.Maintenance != nil {
		s.SetMaintenance(*q.Maintenance)
	}
	if q.AccountLimit != nil {
		s.SetAccountLimit(*q.AccountLimit)
	}
	if q.NeverBoot != nil {
		s.NeverBoot(q.Pool, *q.NeverBoot)
	}
	if q.Stall != nil {
		s.StallNodes(q.Pool, *q.Stall)
	}
	if q.Restore {
		s.RestoreCapacity()
	}
	if c := q.NoCapacity; c != nil {
		s.RefuseCapacity(NoCapacity{Type: c.Type, Region: c.Region, Status: c.Status, Reason: c.Reason})
	}
	done(w, nil)
}

func (s *Sim) adminEditPool(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Count      *int               `json:"count"`
		Label      *string            `json:"label"`
		Labels     *map[string]string `json:"labels"`
		Taints     *[]Taint           `json:"taints"`
		Tags       *[]string          `json:"tags"`
		FirewallID *int               `json:"firewall_id"`
		K8sVersion *string            `json:"k8s_version"`
		Strategy   *string            `json:"update_strategy"`
		Autoscaler *world.Autoscaler  `json:"autoscaler"`
	}
	cluster, err := number(r, "cluster")
	pool, err2 := number(r, "pool")
	if err == nil {
		err = err2
	}
	if err == nil {
		err = decode(r, &q)
	}
	if err == nil {
		err = s.EditPool(cluster, pool, PoolEdit{
			Count: q.Count, Label: q.Label, Labels: q.Labels, Taints: q.Taints, Tags: q.Tags, Autoscaler: q.Autoscaler,
			FirewallID: q.FirewallID, K8sVersion: q.K8sVersion, UpdateStrategy: q.Strategy,
		})
	}
	done(w, err)
}

func show[T any](mux *http.ServeMux, name string, get func() T) {
	mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, get()) })
}

func number(r *http.Request, name string) (int, error) {
	n, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		return 0, fmt.Errorf("%s is %q; it must be a number", name, r.PathValue(name))
	}
	return n, nil
}

func decode(r *http.Request, into any) error {
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func done(w http.ResponseWriter, err error) {
	if err == nil {
		send(w, http.StatusOK, map[string]any{})
		return
	}
	status := http.StatusBadRequest
	if refusal := world.AsRefusal(err); refusal != nil {
		status = refusal.Status
	}
	send(w, status, map[string]any{"error": err.Error()})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
