package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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

// Book collects what experiments find out. Its questions are known before the first experiment, so that a question without an answer
// shows in the report as well. Safe for concurrent use.
type Book struct {
	mu        sync.Mutex
	questions []Question
	answers   map[string]report.Fact
	delays    map[string][]report.Sample
	switches  map[string]string
	anomalies map[string]int
	reasons   map[string]string // by experiment: why it has no answer to the rest
	evidence  map[report.Assumption]report.Judgement
	worst     map[report.Assumption]time.Duration // the longest weighed delay
	tallies   map[report.Assumption]tally
}

// NewBook makes a book with questions.
func NewBook(questions []Question) *Book {
	return &Book{
		questions: questions, answers: map[string]report.Fact{}, delays: map[string][]report.Sample{}, switches: map[string]string{},
		anomalies: map[string]int{}, reasons: map[string]string{}, evidence: map[report.Assumption]report.Judgement{},
		worst: map[report.Assumption]time.Duration{}, tallies: map[report.Assumption]tally{},
	}
}

// Answer notes what was seen, and judges it: as expected or not, or settled where no source had an answer.
func (b *Book) Answer(id, seen string) {
	b.Judge(id, seen, func(expected string) bool { return seen == expected })
}

// Answerf is Answer with a format.
func (b *Book) Answerf(id, format string, args ...any) { b.Answer(id, fmt.Sprintf(format, args...)) }

// Judge notes what was seen; fits compares it with the expected value.
func (b *Book) Judge(id, seen string, fits func(expected string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.questions, func(q Question) bool { return q.ID == id })
	if at < 0 {
		panic("lkeprobe: an answer to " + id + ", which is no question")
	}
	f := fact(b.questions[at])
	f.Seen, f.Verdict = seen, report.Settled
	if f.Expected != Unknown {
		f.Verdict = report.Differs
		if fits(f.Expected) {
			f.Verdict = report.AsExpected
		}
	}
	b.answers[id] = f
}

// Weigh notes evidence for or against an assumption. The strongest evidence against it stays.
func (b *Book) Weigh(about report.Assumption, holds bool, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if had := b.evidence[about]; had.Verdict == report.Broken {
		return
	}
	verdict := report.Broken
	if holds {
		verdict = report.Holds
	}
	b.evidence[about] = report.Judgement{Assumption: about, Seen: fmt.Sprintf(format, args...), Verdict: verdict}
}

// Within weighs a measured delay against its bound: only a delay that was proven to be longer breaks the assumption. The
// report shows the longest delay.
func (b *Book) Within(about report.Assumption, bound time.Duration, what string, s poll.Sample) {
	b.mu.Lock()
	shorter := s.AtMost < b.worst[about] && s.AtLeast <= bound
	b.worst[about] = max(b.worst[about], s.AtMost)
	b.mu.Unlock()
	if shorter {
		return
	}
	b.Weigh(about, s.AtLeast <= bound, "%s: %v to %v", what, s.AtLeast.Round(100*time.Millisecond), s.AtMost.Round(100*time.Millisecond))
}

// A tally counts the observations for and against an assumption.
type tally struct {
	pro, contra int
	against     string // names the observations against it, in the plural
}

// Mostly counts an observation for or against an assumption, which breaks if more of them are against it than for it.
func (b *Book) Mostly(about report.Assumption, holds bool, against string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tallies[about]
	if t.against = against; holds {
		t.pro++
	} else {
		t.contra++
	}
	b.tallies[about] = t
}

// Evidence returns what was noted about an assumption.
func (b *Book) Evidence(about report.Assumption) report.Judgement {
	b.mu.Lock()
	defer b.mu.Unlock()
	j, noted := b.evidence[about]
	switch t := b.tallies[about]; {
	case j.Verdict != report.Broken && t.contra > t.pro:
		return report.Judgement{Assumption: about, Verdict: report.Broken, Seen: fmt.Sprintf("%d of %d %s", t.contra, t.contra+t.pro, t.against)}
	case !noted:
		return report.Judgement{Assumption: about, Verdict: report.NotSeen}
	}
	return j
}

// Delay notes a measured delay.
func (b *Book) Delay(name string, s poll.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delays[name] = append(b.delays[name], report.Sample{AtLeast: s.AtLeast.Milliseconds(), AtMost: s.AtMost.Milliseconds()})
}

// Switch notes which of several behaviours the API has.
func (b *Book) Switch(name, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.switches[name] = value
}

// Anomaly counts a contradiction between answers.
func (b *Book) Anomaly(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.anomalies[what]++
}

// Unanswered notes why an experiment has no answer to its other questions.
func (b *Book) Unanswered(experiment, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reasons[experiment] = reason
}

// Into puts everything but the evidence into a report.
func (b *Book) Into(r *report.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Facts = []report.Fact{}
	for _, q := range b.questions {
		f, answered := b.answers[q.ID]
		if !answered {
			f = fact(q)
			reason, ran := b.reasons[f.Experiment]
			f.Seen, f.Verdict = reason, report.NotSettled
			if !ran {
				f.Verdict = report.NotRun
			}
		}
		r.Facts = append(r.Facts, f)
	}
	r.Delays, r.Switches, r.Audit.Anomalies = maps.Clone(b.delays), maps.Clone(b.switches), maps.Clone(b.anomalies)
}

func fact(q Question) report.Fact {
	experiment, _, _ := strings.Cut(q.ID, ".")
	return report.Fact{Experiment: experiment, ID: q.ID, Question: q.Text, Expected: q.Expected}
}
