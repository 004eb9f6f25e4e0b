// Package notebook collects what experiments find out, until a report is made
// of it. Questions are known before the first experiment, so that one without an
// answer shows in the report as well. Safe for concurrent use.
package notebook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// Unknown is the expectation where no source has an answer.
const Unknown = "unknown"

// Question is one fact to find out.
type Question struct {
	ID       string // experiment.fact
	Text     string
	Expected string // what sources have, or Unknown
}

// Notebook holds the answers.
type Notebook struct {
	mu        sync.Mutex
	questions []Question
	answers   map[string]report.Fact
	delays    map[string][]report.Sample
	switches  map[string]string
	anomalies map[string]int
	reasons   map[string]string // by experiment: why it has no answer to the rest
}

// New makes a notebook with questions.
func New(questions []Question) *Notebook {
	return &Notebook{
		questions: questions, answers: map[string]report.Fact{}, delays: map[string][]report.Sample{},
		switches: map[string]string{}, anomalies: map[string]int{}, reasons: map[string]string{},
	}
}

// Answer notes what was seen, and judges it: equal to what was expected or not,
// or news where nothing was.
func (n *Notebook) Answer(id, seen string) {
	n.Judge(id, seen, func(expected string) bool { return seen == expected })
}

// Answerf is Answer with a format.
func (n *Notebook) Answerf(id, format string, args ...any) {
	n.Answer(id, fmt.Sprintf(format, args...))
}

// Judge notes what was seen; fits compares it with the expected value.
func (n *Notebook) Judge(id, seen string, fits func(expected string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := slices.IndexFunc(n.questions, func(q Question) bool { return q.ID == id })
	if at < 0 {
		panic("lkeprobe: an answer to " + id + ", which is no question")
	}
	q := n.questions[at]
	f := fact(q)
	f.Seen, f.Verdict = seen, report.Settled
	if q.Expected != Unknown {
		f.Verdict = report.Differs
		if fits(q.Expected) {
			f.Verdict = report.AsExpected
		}
	}
	n.answers[id] = f
}

// Delay notes a measured delay.
func (n *Notebook) Delay(name string, s poll.Sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delays[name] = append(n.delays[name], report.Sample{AtLeast: s.AtLeast.Milliseconds(), AtMost: s.AtMost.Milliseconds()})
}

// Switch notes which of several behaviours the API has.
func (n *Notebook) Switch(name, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.switches[name] = value
}

// Anomaly counts a contradiction between answers.
func (n *Notebook) Anomaly(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.anomalies[what]++
}

// Unanswered notes why an experiment has no answer to its other questions.
func (n *Notebook) Unanswered(experiment, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reasons[experiment] = reason
}

// Into puts everything into a report.
func (n *Notebook) Into(r *report.Report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Facts = []report.Fact{}
	for _, q := range n.questions {
		f, answered := n.answers[q.ID]
		if !answered {
			f = fact(q)
			reason, ran := n.reasons[f.Experiment]
			f.Seen, f.Verdict = reason, report.NotSettled
			if !ran {
				f.Verdict = report.NotRun
			}
		}
		r.Facts = append(r.Facts, f)
	}
	r.Delays, r.Switches, r.Audit.Anomalies = maps.Clone(n.delays), maps.Clone(n.switches), maps.Clone(n.anomalies)
}

func fact(q Question) report.Fact {
	experiment, _, _ := strings.Cut(q.ID, ".")
	return report.Fact{Experiment: experiment, ID: q.ID, Question: q.Text, Expected: q.Expected}
}
