package experiment

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// Values of Question.Expected: no source has an answer, or sources have a refusal whose words are not known.
const (
	Unknown = "unknown"
	refused = "refused"
)

// Question is one fact to find out.
type Question struct {
	ID       string // experiment.fact
	Text     string
	Expected string // the answer that sources have, or Unknown
}

// Book collects what experiments find out. Its questions are known before the first experiment, so that a question without an answer
// shows in the report as well. Safe for concurrent use.
type Book struct {
	mu     sync.Mutex
	noted  report.Report
	weighs map[report.Assumption]*evidence
}

// evidence holds the observations about an assumption.
type evidence struct {
	report.Judgement
	worst       time.Duration // the longest weighed delay
	pro, contra int           // observations that Mostly counted
	against     string        // names the observations against it, in the plural
}

// NewBook makes a book with questions.
func NewBook(questions []Question) *Book {
	b := &Book{noted: report.Report{Facts: []report.Fact{}, Delays: map[string][]report.Sample{}, Switches: map[string]string{}},
		weighs: map[report.Assumption]*evidence{}}
	b.noted.Audit.Anomalies = map[string]int{}
	for _, about := range report.Assumptions() {
		b.weighs[about] = &evidence{Judgement: report.Judgement{Assumption: about, Verdict: report.NotSeen}}
	}
	for _, q := range questions {
		experiment, _, _ := strings.Cut(q.ID, ".")
		b.noted.Facts = append(b.noted.Facts,
			report.Fact{Experiment: experiment, ID: q.ID, Question: q.Text, Expected: q.Expected, Verdict: report.NotRun})
	}
	return b
}

// Answer notes what was seen, and judges it: as expected or not, or settled where no source had an answer.
func (b *Book) Answer(id, format string, args ...any) {
	b.answer(id, fmt.Sprintf(format, args...), false)
}

// Outcome notes the outcome of a request: its status and, after a refusal, the API's words.
func (b *Book) Outcome(id string, err error) {
	b.answer(id, outcome(err), linode.KindOf(err) == linode.KindInvalid)
}

func (b *Book) answer(id, seen string, no bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.noted.Facts, func(f report.Fact) bool { return f.ID == id })
	if at < 0 {
		panic("lkeprobe: an answer to " + id + ", which is no question")
	}
	f := &b.noted.Facts[at]
	f.Seen, f.Verdict = seen, report.Differs
	switch {
	case f.Expected == Unknown:
		f.Verdict = report.Settled
	case seen == f.Expected, no && f.Expected == refused:
		f.Verdict = report.AsExpected
	}
}

// Weigh notes evidence for or against an assumption. The first evidence against it stays.
func (b *Book) Weigh(about report.Assumption, holds bool, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.weighs[about]
	if e.Verdict == report.Broken {
		return
	}
	e.Seen, e.Verdict = fmt.Sprintf(format, args...), report.Broken
	if holds {
		e.Verdict = report.Holds
	}
}

// Within weighs a measured delay against its bound: only a delay that was proven to be longer breaks the assumption.
// Example with a bound of 4 s: a delay between 3 and 5 s holds, a delay between 4.5 and 5 s breaks it. The report shows
// the longest delay.
func (b *Book) Within(about report.Assumption, bound time.Duration, what string, s poll.Sample) {
	b.mu.Lock()
	e := b.weighs[about]
	shorter := s.AtMost < e.worst && s.AtLeast <= bound
	e.worst = max(e.worst, s.AtMost)
	b.mu.Unlock()
	if !shorter {
		b.Weigh(about, s.AtLeast <= bound, "%s: %v to %v", what, s.AtLeast.Round(100*time.Millisecond), s.AtMost.Round(100*time.Millisecond))
	}
}

// Mostly counts an observation for or against an assumption. The assumption is broken if more observations are against
// it than for it.
func (b *Book) Mostly(about report.Assumption, holds bool, against string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.weighs[about]
	if e.against = against; holds {
		e.pro++
	} else {
		e.contra++
	}
}

// Evidence returns what was noted about an assumption.
func (b *Book) Evidence(about report.Assumption) report.Judgement {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.weighs[about]
	j := e.Judgement
	if j.Verdict != report.Broken && e.contra > e.pro {
		j.Verdict, j.Seen = report.Broken, fmt.Sprintf("%d of %d %s", e.contra, e.contra+e.pro, e.against)
	}
	return j
}

// Delay notes a measured delay.
func (b *Book) Delay(name string, s poll.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted.Delays[name] = append(b.noted.Delays[name], report.Sample{AtLeast: s.AtLeast.Milliseconds(), AtMost: s.AtMost.Milliseconds()})
}

// Switch notes which of several behaviours the API has.
func (b *Book) Switch(name, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted.Switches[name] = value
}

// Anomaly counts a contradiction between answers.
func (b *Book) Anomaly(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted.Audit.Anomalies[what]++
}

// Unanswered notes why an experiment that ended has no answer to its other questions.
func (b *Book) Unanswered(experiment, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, f := range b.noted.Facts {
		if f.Experiment == experiment && f.Verdict == report.NotRun {
			b.noted.Facts[i].Seen, b.noted.Facts[i].Verdict = reason, report.NotSettled
		}
	}
}

// Into puts everything but the evidence into a report.
func (b *Book) Into(r *report.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Facts, r.Delays, r.Switches, r.Audit.Anomalies = b.noted.Facts, b.noted.Delays, b.noted.Switches, b.noted.Audit.Anomalies
}
