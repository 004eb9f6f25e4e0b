package linodesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

// Admin is the simulator's control over HTTP, for programs in other languages
// and for people: JSON in and out. Actions that the API offers are not repeated here: an
// edit by hand is a request to the API with a second token, whose user the audit
// log names.
//
// A request whose Host is localhost or a loopback address (127.0.0.1, ::1) needs no token. A request with any other Host
// needs a token of Config.Tokens that has the scope "*" and is not DefaultToken; otherwise it is answered 403. Requests
// that a browser sends for another site are answered 403, and bodies other than application/json 415. A wrong rule or
// fault is answered 400 with {"error": text}.
//
//	GET    /state /calls /audit /meters /unknown /violations
//	POST   /rules            a Rule as JSON, durations such as "2s"; answers {"id": 1}
//	DELETE /rules/{id}       ends one rule
//	DELETE /rules            ends all faults
//	POST   /faults           {"maintenance": true, "account_limit": 5, "vcpu_limit": 24, "vpc_limit": 10,
//	                          "enterprise_versions": ["v1.34.6+lke2"], "never_boot": 1, "stall": 1, "pool": 855401,
//	                          "no_capacity": {"type": "g6-standard-2", "region": "us-ord"}, "restore_capacity": true,
//	                          "no_capability": {"region": "us-ord", "capability": "Metadata"}, "restore_capabilities": true,
//	                          "lie": "late-ids"}
//	                          lie names one of report.Assumptions, see Lie;
//	                          pool limits never_boot and stall to one pool; without it they are about any pool
func (s *Sim) Admin() http.Handler {
	mux := http.NewServeMux()
	show(mux, "state", s.Snapshot)
	show(mux, "calls", s.Calls)
	show(mux, "audit", s.Audit)
	show(mux, "meters", s.Meters)
	show(mux, "unknown", s.Unknown)
	show(mux, "violations", s.Violations)
	mux.HandleFunc("POST /rules", s.Faults.addRule)
	mux.HandleFunc("DELETE /rules", func(w http.ResponseWriter, _ *http.Request) { s.HealAll(); done(w, nil) })
	mux.HandleFunc("DELETE /rules/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			err = fmt.Errorf("id is %q; it must be a number", r.PathValue("id"))
		}
		s.Heal(RuleID(id))
		done(w, err)
	})
	mux.HandleFunc("POST /faults", s.Faults.set)
	mux.HandleFunc("POST /conditions", s.Faults.set) // the earlier name of /faults
	return s.tokens.guard("default-src 'none'; frame-ancestors 'none'", mux)
}

// ruleRequest is a Rule in JSON, with durations as text and one value for a header.
type ruleRequest struct {
	Rule
	Delay      wait              `json:"delay"`
	RetryAfter wait              `json:"retry_after"`
	Stale      wait              `json:"stale"`
	Late       wait              `json:"late"`
	For        wait              `json:"for"`
	Header     map[string]string `json:"header"`
}

// wait is a duration written as text, such as 1.5s.
type wait struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *wait) UnmarshalText(text []byte) (err error) {
	w.Duration, err = time.ParseDuration(string(text))
	return err
}

func (f *Faults) addRule(w http.ResponseWriter, r *http.Request) {
	var q ruleRequest
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	rule := q.Rule
	rule.Delay, rule.RetryAfter, rule.Stale, rule.Header = q.Delay.Duration, q.RetryAfter.Duration, q.Stale.Duration, http.Header{}
	rule.Late, rule.For = q.Late.Duration, q.For.Duration
	for name, value := range q.Header {
		rule.Header.Set(name, value)
	}
	if err := rule.Check(); err != nil {
		done(w, err)
		return
	}
	send(w, http.StatusOK, map[string]any{"id": f.Fail(rule)})
}

func (f *Faults) set(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Maintenance         *bool         `json:"maintenance"`
		AccountLimit        *int          `json:"account_limit"`
		VCPULimit           *int          `json:"vcpu_limit"`
		VPCLimit            *int          `json:"vpc_limit"`
		EnterpriseVersions  *[]string     `json:"enterprise_versions"`
		NeverBoot           *int          `json:"never_boot"`
		Stall               *int          `json:"stall"`
		Pool                int           `json:"pool"`
		RestoreCapacity     bool          `json:"restore_capacity"`
		NoCapacity          *NoCapacity   `json:"no_capacity"`
		RestoreCapabilities bool          `json:"restore_capabilities"`
		NoCapability        *NoCapability `json:"no_capability"`

		Lie report.Assumption `json:"lie"`
	}
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	if q.Maintenance != nil {
		f.SetMaintenance(*q.Maintenance)
	}
	if q.AccountLimit != nil {
		f.SetAccountLimit(*q.AccountLimit)
	}
	if q.VCPULimit != nil {
		f.SetVCPULimit(*q.VCPULimit)
	}
	if q.VPCLimit != nil {
		f.SetVPCLimit(*q.VPCLimit)
	}
	if q.EnterpriseVersions != nil {
		f.OfferEnterpriseVersions(*q.EnterpriseVersions...)
	}
	if q.NeverBoot != nil {
		f.NeverBoot(q.Pool, *q.NeverBoot)
	}
	if q.Stall != nil {
		f.StallNodes(q.Pool, *q.Stall)
	}
	if q.RestoreCapacity {
		f.RestoreCapacity()
	}
	if q.RestoreCapabilities {
		f.RestoreCapabilities()
	}
	if q.NoCapability != nil {
		f.WithdrawCapability(*q.NoCapability)
	}
	if q.NoCapacity != nil {
		f.RefuseCapacity(*q.NoCapacity)
	}
	if q.Lie != "" {
		done(w, f.Lie(q.Lie))
		return
	}
	done(w, nil)
}

func show[T any](mux *http.ServeMux, name string, get func() T) {
	mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, get()) })
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
	send(w, http.StatusBadRequest, map[string]any{"error": err.Error()})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
