package lkeprobe_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/experiment"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

func sample() *report.Report {
	book := experiment.NewBook([]experiment.Question{
		{ID: "a.one", Text: "One | two", Expected: "1"}, {ID: "a.two", Text: "Two", Expected: "2"},
		{ID: "a.three", Text: "Three", Expected: experiment.Unknown},
		{ID: "a.four", Text: "Four", Expected: "4"}, {ID: "b.five", Text: "Five", Expected: "5"},
	})
	book.Answer("a.one", "1")
	book.Answer("a.two", "<3>")
	book.Answer("a.three", "3")
	book.Unanswered("a", "the time was up")
	book.Delay(report.Gone, poll.Sample{AtLeast: time.Second, AtMost: 3 * time.Second})
	book.Delay(report.Gone, poll.Sample{AtLeast: 4 * time.Second, AtMost: 4 * time.Second})
	book.Switch(report.LastNode, report.ValuePoolKept)
	book.Anomaly("a 404 for a pool that exists")
	r := &report.Report{
		Schema: report.Schema, Day: "2026-01-02", RateLimits: []report.RateLimit{},
		Judgements: []report.Judgement{
			{Assumption: report.OldLists, Means: "lists are new", Seen: "10m", Verdict: report.Broken, Setting: "settings.listLag"},
			{Assumption: report.OldReads, Means: "reads are new", Verdict: report.NotSeen},
		},
		Scenarios: []report.Scenario{{Name: "drift", Expects: "another node", Saw: "the same", Ran: true,
			Seconds: 12, Calls: -1, Dollars: 0.018}},
		Audit: report.Audit{Writes: []report.Write{}, Refused: []string{}, Leftovers: []string{"pool 1001"}, Stopped: "interrupted"},
	}
	book.Into(r)
	return r
}

func TestFactsAreJudged(t *testing.T) {
	var got []string
	for _, f := range sample().Facts {
		got = append(got, f.ID+": "+string(f.Verdict)+": "+f.Seen)
	}
	want := []string{
		"a.one: as expected: 1", "a.two: differs: <3>", "a.three: settled: 3", "a.four: not settled: the time was up", "b.five: not run: ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("facts %q, want %q", got, want)
	}
}

func TestReportIsReadAsItWasWritten(t *testing.T) {
	r := sample()
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(&text)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%v\n%+v\n%+v", err, r, again)
	}
	if least, most, ok := again.Range(report.Gone); least != 2*time.Second || most != 4*time.Second || !ok {
		t.Errorf("range %v to %v", least, most)
	}
}

func TestPageForPeople(t *testing.T) {
	var text bytes.Buffer
	if err := lkeprobe.Markdown(&text, sample()); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`| a | One \| two | 1 | 1 | as expected |`, "| a | Two | 2 | &lt;3&gt; | differs |", "| gone | 2 | 2s to 4s |",
		"| last_node | pool kept |",
		"**The run ended early: interrupted**", "**Red: old-lists, drift.**",
		"| `old-lists` | lists are new | 10m | **broken** | settings.listLag |", "| Two | 2 | &lt;3&gt; |",
		"| drift | another node | the same | failed | 12 | 0 | not known | 0.018 |", "- pool 1001", "- a 404 for a pool that exists: 1",
		"0 requests, 0 of them changes, 0 of anything that was not the run's.",
	} {
		if !strings.Contains(text.String(), line+"\n") {
			t.Errorf("%q is no line of\n%s", line, text.String())
		}
	}
}
