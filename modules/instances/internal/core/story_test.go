package core

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var updateStories = flag.Bool("update", false, "write the transcripts of the stories")

// quick is a platform without delays, and a process that does not die.
func quick(seed uint64) simSchedule {
	return simSchedule{seed: seed, latency: 80 * time.Millisecond, boot: 2 * time.Second, orphanTTL: 5 * time.Minute, creations: 20}
}

// storyEnd ends transcripts: only sweeps follow.
const storyEnd = 400 * time.Second

// stories are schedules that showed a defect, each with the transcript of how it
// goes now in testdata/stories.
func stories() map[string]*simSchedule {
	all := map[string]*simSchedule{}
	story := func(name string, s simSchedule) { all[name] = &s }

	s := quick(1)
	s.lag = 119 * time.Second
	s.lives = []simLife{
		{at: 2 * time.Second, timeout: time.Minute, again: 5 * time.Second},
		{at: 6 * time.Second, timeout: time.Minute, again: 5 * time.Second},
	}
	s.fates = []simFate{{op: OpCreate, times: 1, kind: faultLost}}
	story("a claimant that looks for its label holds up no other", s)

	s = quick(1)
	s.lag = 3 * time.Second
	s.lives = []simLife{{at: 2 * time.Second, timeout: time.Minute, again: 50 * time.Second, forgets: true}}
	s.fates = []simFate{{op: OpCreate, times: 1, kind: faultLost}}
	s.steps = []simStep{{at: 40 * time.Second, kind: stepRemove}}
	story("a label is free again when its instance is gone", s)

	s = quick(8)
	s.lag = 30 * time.Second
	s.lives = []simLife{{at: 5 * time.Second, timeout: time.Minute, again: 5 * time.Second, keeps: 7 * time.Second}}
	s.steps = []simStep{{at: 14 * time.Second, kind: stepBegin}}
	story("what was gone at the first look stays gone", s)

	s = quick(1)
	s.stale = 3900 * time.Millisecond
	s.lives = []simLife{{at: 12 * time.Second, timeout: time.Minute, again: 5 * time.Second, edits: 3}}
	s.steps = []simStep{{at: 16500 * time.Millisecond, kind: stepBegin, pick: 1}}
	story("a new leader undoes no tags of the one before", s)

	s = quick(1)
	s.lag = 119 * time.Second
	s.lives = []simLife{
		{at: 2 * time.Second, timeout: 10 * time.Second, again: 135 * time.Second},
		{at: 10 * time.Second, timeout: time.Minute, again: 5 * time.Second},
	}
	s.steps = []simStep{{at: 2050 * time.Millisecond, kind: stepDeath}, {at: 143 * time.Second, kind: stepRename}}
	story("a list of the first minutes does not show all that was made before", s)

	s = quick(2)
	s.lag = time.Minute
	s.lives = []simLife{{at: 2 * time.Second, timeout: 10 * time.Second, again: 100 * time.Second}}
	s.steps = []simStep{{at: 2100 * time.Millisecond, kind: stepDeath}, {at: 85 * time.Second, kind: stepRename}}
	story("a creation in the first minutes follows a new list", s)

	s = simSchedule{seed: 7, stale: 3900 * time.Millisecond, lag: time.Second, latency: 80 * time.Millisecond, boot: 20 * time.Second,
		orphanTTL: time.Minute, creations: 1}
	s.lives = []simLife{{at: 5250 * time.Millisecond, timeout: 5 * time.Second, again: time.Second, disks: 2}}
	s.steps = []simStep{{at: 33500 * time.Millisecond, kind: stepBegin, pick: 1}}
	story("parts that were being read before an election prove nothing after it", s)

	s = quick(1)
	s.harsh, s.latency = true, 2*time.Second
	s.lives = []simLife{{at: 85 * time.Second, timeout: time.Minute, again: 26 * time.Second, disks: 1}}
	s.fates = []simFate{
		{op: OpAddDisk, times: 1, kind: faultLate, takes: time.Second, late: 2 * time.Minute},
		{op: OpList, from: 100 * time.Second, times: 6, kind: faultDeaf},
	}
	story("a list of disks from before a late one is not used after it", s)

	s = quick(1)
	s.lag = 30 * time.Second
	s.lives = []simLife{{at: 31 * time.Second, timeout: time.Minute, again: 20 * time.Second}}
	s.fates = []simFate{{op: OpCreate, times: 1, kind: faultLost}, {op: OpFind, from: 33 * time.Second, times: 4, kind: faultDeaf}}
	s.steps = []simStep{{at: 100 * time.Second, kind: stepRemove}}
	story("a label that was refused long ago may be free again", s)

	s = quick(2)
	s.lag = 119 * time.Second
	s.lives = []simLife{
		{at: 2 * time.Second, timeout: time.Minute, again: 5 * time.Second},
		{at: 200 * time.Second, timeout: time.Minute, again: 5 * time.Second},
	}
	s.fates = []simFate{{op: OpCreate, from: 199 * time.Second, times: 1, kind: faultLost}, {op: OpFind, times: 40, kind: faultMissing}}
	story("searches that lack an entry make no conflict with the own instance", s)

	s = quick(1)
	s.lives = []simLife{{at: 2 * time.Second, timeout: time.Minute, again: time.Second, disks: 1}}
	s.fates = []simFate{{op: OpAttach, times: 1, kind: faultUnsent}, {op: OpBoot, times: 2, kind: faultUnsent}}
	story("a step without an answer is repeated when readings show what it did", s)

	s = quick(3)
	s.harsh = true
	s.lives = []simLife{{at: 2 * time.Second, timeout: time.Minute, again: 5 * time.Second, edits: 2}}
	s.fates = []simFate{
		{op: OpTag, times: 1, kind: faultLate, takes: time.Second, late: time.Minute},
		{op: OpRead, from: 3 * time.Second, times: 5, kind: faultRefused},
		{op: OpTag, from: 3 * time.Second, times: 1, kind: faultLate, takes: 10 * time.Minute, late: 2 * time.Minute},
	}
	story("tags that are sent again may land after the first ones are forgotten", s)

	s = quick(1)
	s.harsh = true
	s.lives = []simLife{
		{at: 2 * time.Second, timeout: time.Minute, again: 22 * time.Second, forgets: true, edits: 1, keeps: 10 * time.Second},
	}
	s.steps = []simStep{{at: 26 * time.Second, kind: stepGive}}
	story("a removal follows a reading that shows whose the instance is now", s)
	return all
}

func TestStories(t *testing.T) {
	for name, plan := range stories() {
		t.Run(name, func(t *testing.T) {
			failure, trace, _ := play(plan, true)
			trace = until(storyEnd, trace)
			if failure != "" {
				t.Errorf("%s\n%s", trace, failure)
			}
			file := filepath.Join("testdata", "stories", strings.ReplaceAll(name, " ", "-")+".txt")
			if *updateStories {
				if err := os.WriteFile(file, []byte(trace), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if trace != string(want) {
				t.Errorf("went another way; `go test -run TestStories -update .` accepts it:\n%s", trace)
			}
		})
	}
}

// until is the beginning of a transcript.
func until(end time.Duration, trace string) string {
	var lines strings.Builder
	for line := range strings.Lines(trace) {
		var seconds float64
		if _, err := fmt.Sscan(line, &seconds); err == nil && seconds > end.Seconds() {
			break
		}
		lines.WriteString(line)
	}
	return lines.String()
}
