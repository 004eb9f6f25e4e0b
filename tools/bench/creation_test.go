package bench_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The API's documented limit of creations.
const (
	creationLimit  = 20
	creationWindow = 15 * time.Second
)

// creationLimit is how long the API's limit takes at the least: a list, a window
// for each 20 creations before the last, and the last one.
func (s scene) creationLimit() time.Duration {
	return 2*s.profile.Request.Min + time.Duration((s.n-1)/creationLimit)*creationWindow
}

// creationFloor is when the last creation of a burst can be answered, with
// requests that take as long as this burst's did.
func (l *lab) creationFloor() time.Duration {
	var took []time.Duration
	for _, creation := range l.log.creations {
		took = append(took, *creation)
	}
	return slices.Max(answers(l.log.before, took))
}

// answers returns when creations are answered that are sent as early as can be
// without the risk of a 429, sorted. A creation is counted anywhere between its
// sending and its answer, and where the API's windows begin is not known. So one
// may be sent when fewer than 20 have no answer or had it less than a window ago.
func answers(first time.Duration, took []time.Duration) []time.Duration {
	var answered []time.Duration
	for n, length := range took {
		sent := first
		if n >= creationLimit {
			sent = answered[n-creationLimit] + creationWindow
		}
		answered = append(answered, sent+length)
		slices.Sort(answered)
	}
	return answered
}

func TestAnswersAreThoseOfTheEarliestSafeCreations(t *testing.T) {
	s := time.Second
	equal := func(n int, length time.Duration) []time.Duration { return slices.Repeat([]time.Duration{length}, n) }
	for name, c := range map[string]struct {
		took []time.Duration
		last time.Duration
	}{
		"one":                        {equal(1, s), 2 * s},
		"as many as the limit":       {equal(20, s), 2 * s},
		"one more":                   {equal(21, s), 18 * s},
		"five windows":               {equal(100, s), 66 * s},
		"one of the first takes 9 s": {append([]time.Duration{9 * s}, equal(20, s)...), 18 * s},
		"and all slots are needed":   {append([]time.Duration{9 * s}, equal(39, s)...), 26 * s},
	} {
		if got := slices.Max(answers(s, c.took)); got != c.last {
			t.Errorf("%s: %s, want %s", name, got, c.last)
		}
	}
}

// Any earlier creation might be the 21st of a window: 20 before it could all be
// counted in the 15 s that end when it is sent.
func TestNoCreationCanBeSentEarlierWithoutRisk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var took []time.Duration
	for range 200 {
		took = append(took, time.Duration(random.Int64N(int64(2*time.Second))))
	}
	for n := creationLimit; n < len(took); n++ {
		before := answers(time.Second, took[:n])
		sent := before[n-creationLimit] + creationWindow
		open := func(end time.Duration) (n int) {
			for _, at := range before {
				if at > end-creationWindow {
					n++
				}
			}
			return n
		}
		if open(sent) >= creationLimit || open(sent-1) < creationLimit {
			t.Fatalf("creation %d: %d may count when it is sent, %d just before", n, open(sent), open(sent-1))
		}
	}
}

// dataDisks is how many the class with disks has.
const dataDisks = 2

// requestsWithDisks is how many requests each Linode of that class needs: to make
// it, its disks, the devices, the boot and the tags; lists of what it has; and
// until the Linode and each disk are ready, reads after 2, 4, 8 and then every
// 10 s, each with one of the Linode before the next write.
func (s scene) requestsWithDisks() float64 {
	const writes, lists = 1 + dataDisks + 3, 2
	boot := s.profile.Join
	if running := s.profile.PlainLinode.Running; running != (linodesim.Span{}) { // four fifths of a boot
		boot = linodesim.Span{Min: running.Min * 5 / 4, Max: running.Max * 5 / 4}
	}
	provisioned := linodesim.Span{Min: boot.Min / 2, Max: boot.Max / 2}
	return writes + lists + s.reads(provisioned) + dataDisks*(s.reads(s.profile.Job)+1) + 1/float64(s.n)
}

// reads is how many it takes on average until one shows a change that is ready after a
// time of the span.
func (s scene) reads(ready linodesim.Span) float64 {
	const samples = 100
	request := (s.profile.Request.Min + s.profile.Request.Max) / 2
	n := 0
	for i := range samples {
		end := ready.Min + (ready.Max-ready.Min)*time.Duration(i)/samples
		pause := 2 * time.Second
		for at := time.Duration(0); at < end; pause = min(2*pause, 10*time.Second) {
			at += pause + request
			n++
		}
	}
	return float64(n) / samples
}

// diskFloor is when the last Linode can have its disks: each is provisioned, and
// its disks are made one after another in the shortest time of the profile.
func (l *lab) diskFloor(began time.Time, s scene) time.Duration {
	var last time.Duration
	for _, e := range l.sim.Audit() {
		if e.Action == linodesim.InstanceStatus && e.After == linodesim.StatusOffline {
			last = max(last, e.At.Sub(began))
		}
	}
	return last + dataDisks*s.profile.Job.Min
}
