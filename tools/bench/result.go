package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of the measurements. A line of results begins with the name.
const (
	Bursts = "bench"
	// Keys: each claimant has a key of its own.
	Keys = "bench-keys"
	// Restarts: the claimants arrive shortly after the process began to lead.
	Restarts = "bench-restart"
	// Spreads: the claimants arrive one after another.
	Spreads = "bench-spread"
	// Kills: the leader is killed in a scale-up, and another process takes over.
	Kills = "bench-killed"
	// Plain: instance mode, a plain Linode for each claimant.
	Plain = "bench-instance"
	// Disks: instance mode with data disks, each of which takes more requests.
	Disks = "bench-disks"
	Idle  = "bench-idle"
	Heap  = "bench-heap"
	// Cores: the processor time that an engine's core takes for claims that come at the same time.
	Cores = "bench-core"
)

// Result has the figures of one run.
type Result struct {
	Bench  string
	Labels []Label
	// Figures have targets and are printed in lines. Details are in the
	// table only.
	Figures, Details []Figure
}

// Label names what was run.
type Label struct{ Name, Value string }

// Figure is a measured number and how many decimals it is printed with.
type Figure struct {
	Name     string
	Value    float64
	Decimals int
}

func (f Figure) String() string { return strconv.FormatFloat(f.Value, 'f', f.Decimals, 64) }

// Line is the result for people and for scripts: words of the form name=value.
func (r Result) Line() string {
	var b strings.Builder
	b.WriteString(r.Bench + ":")
	for _, l := range r.Labels {
		fmt.Fprintf(&b, " %s=%s", l.Name, l.Value)
	}
	for _, f := range r.Figures {
		fmt.Fprintf(&b, " %s=%s", f.Name, f)
	}
	return b.String()
}

// Label returns a label's value, "" if the result has no such label.
func (r Result) Label(name string) string {
	for _, l := range r.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Figure returns a figure's value.
func (r Result) Figure(name string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// Worst joins runs of one burst with different seeds. It takes the largest value of each
// figure, because a larger value is worse for every figure.
func Worst(runs []Result) Result {
	if len(runs) == 0 {
		return Result{}
	}
	worst := runs[0]
	worst.Figures = append([]Figure{}, worst.Figures...)
	worst.Details = append([]Figure{}, worst.Details...)
	for _, run := range runs[1:] {
		for i := range worst.Figures {
			worst.Figures[i].Value = max(worst.Figures[i].Value, run.Figures[i].Value)
		}
		for i := range worst.Details {
			worst.Details[i].Value = max(worst.Details[i].Value, run.Details[i].Value)
		}
	}
	return worst
}

// Burst has the counts and times of a burst of claimants until each had its node.
type Burst struct {
	Tier, Profile string
	N             int
	// Calls counts all requests, CollectionGETs the requests that list a collection,
	// Throttled the answers 429.
	Calls, CollectionGETs, Throttled int
	// Requested counts the nodes that requests added, Present the nodes that
	// existed at the end.
	Requested, Present int
	// Purchases counts the requests that added nodes.
	Purchases int
	// The three times begin with the first claimant. Took ends when the last
	// claimant has its node, Visible when the platform shows the last node, Asked
	// when the last node is requested.
	Took, Visible, Asked time.Duration
	// Limit is the shortest time in which the API's rate limit allows the creations.
	Limit time.Duration
	// Needed is the number of requests that a claimant needs on average, by the
	// profile's times.
	Needed float64
	// Attempts is the most calls of Claim that one claimant needed.
	Attempts int
}

// Result of a burst.
func (b Burst) Result() Result {
	return Result{
		Bench:  Bursts,
		Labels: []Label{{"tier", b.Tier}, {"profile", b.Profile}, {"n", strconv.Itoa(b.N)}},
		Figures: []Figure{
			{"calls", float64(b.Calls), 0},
			{"calls_per_claim", ratio(float64(b.Calls), float64(b.N)), 2},
			{"collection_gets", float64(b.CollectionGETs), 0},
			{"throttled", float64(b.Throttled), 0},
			{"surplus", float64(max(b.Requested, b.Present) - b.N), 0},
			{"floor_ratio", ratio(b.Took.Seconds(), b.Visible.Seconds()), 2},
			{"beyond_s", b.beyond().Seconds(), 1},
		},
		Details: []Figure{
			{"took_s", b.Took.Seconds(), 1},
			{"floor_s", b.Visible.Seconds(), 1},
			{"asked_s", b.Asked.Seconds(), 1},
			{"attempts", float64(b.Attempts), 0},
		},
	}
}

// tolerance bounds the time of a client, as a multiple of the platform's time. A client waits for a tenth of the time that has passed
// before it looks again, so it may see a node late by a tenth. Example: the platform takes 10 s, and the client may take 11.5 s.
const tolerance = 1.15

// beyond is the time by which the last claimant waited longer than tolerance allows.
func (b Burst) beyond() time.Duration {
	return max(0, b.Took-time.Duration(tolerance*float64(b.Visible)))
}

// Lagging is the result of a burst under the given name. lag is the age of the lists that
// the API returned.
func (b Burst) Lagging(name string, lag time.Duration) Result {
	r := b.Result()
	r.Bench = name
	r.Labels = append(r.Labels, Label{"list_lag_s", seconds(lag)})
	return r
}

// Spread is the result of a burst whose claimants arrived within the given time.
func (b Burst) Spread(over time.Duration) Result {
	r := b.Result()
	r.Bench = Spreads
	r.Labels = append(r.Labels, Label{"spread_s", seconds(over)})
	r.Figures = append(r.Figures, Figure{"purchases", float64(b.Purchases), 0})
	return r
}

// OfClass is the result of a burst in instance mode.
func (b Burst) OfClass(class string) Result {
	r := b.Result()
	r.Bench, r.Labels[0] = Plain, Label{"class", class}
	r.replace("beyond_s", Figure{"limit_ratio", ratio(b.Took.Seconds(), b.Limit.Seconds()), 2})
	r.replace("asked_s", Figure{"limit_s", b.Limit.Seconds(), 1})
	return r
}

// WithDisks is the result of a burst in instance mode whose Linodes have data
// disks.
func (b Burst) WithDisks(disks int) Result {
	r := b.Result()
	r.Bench, r.Labels[0] = Disks, Label{"disks", strconv.Itoa(disks)}
	r.Figures = slices.DeleteFunc(r.Figures, func(f Figure) bool { return f.Name == "beyond_s" })
	r.replace("floor_ratio", Figure{"needed_ratio", ratio(float64(b.Calls), b.Needed*float64(b.N)), 2})
	r.replace("asked_s", Figure{"needed", b.Needed, 2})
	return r
}

// replace puts a figure in the place of the named figure.
func (r Result) replace(name string, by Figure) {
	for _, figures := range [][]Figure{r.Figures, r.Details} {
		if at := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name }); at >= 0 {
			figures[at] = by
		}
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// ratio is a/b. It is 0 if b is 0, because then nothing was measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Instance is the mode of [Killed] in which nodes are plain Linodes; the other modes are the tiers of LKE.
const Instance = "instance"

// Killed has the counts and times of a scale-up in which the leader was killed.
type Killed struct {
	Mode string
	N    int
	// After is the time from the first claimant to the kill. Took is the time from the kill until the last claimant has its node.
	After, Took time.Duration
	// Requested counts the nodes that requests of both processes added, Present the nodes that existed at the end.
	Requested, Present, Calls int
	// Served counts the claimants that had their nodes before the kill.
	Served int
}

// Result of a kill.
func (k Killed) Result() Result {
	return Result{
		Bench:  Kills,
		Labels: []Label{{"mode", k.Mode}, {"n", strconv.Itoa(k.N)}, {"killed_after_s", seconds(k.After)}},
		Figures: []Figure{
			{"surplus", float64(max(k.Requested, k.Present) - k.N), 0},
			{"took_s", k.Took.Seconds(), 1},
		},
		Details: []Figure{{"calls", float64(k.Calls), 0}, {"served_before", float64(k.Served), 0}},
	}
}

// Rest counts the requests of an operator without work.
type Rest struct {
	Tier                             string
	Nodes                            int
	Length                           time.Duration
	Calls, CollectionGETs, Throttled int
}

// Result of a rest.
func (r Rest) Result() Result {
	return Result{
		Bench:   Idle,
		Labels:  []Label{{"tier", r.Tier}, {"nodes", strconv.Itoa(r.Nodes)}},
		Figures: []Figure{{"calls_per_minute", ratio(float64(r.Calls), r.Length.Minutes()), 2}},
		Details: []Figure{
			{"collection_gets_per_minute", ratio(float64(r.CollectionGETs), r.Length.Minutes()), 2},
			{"throttled", float64(r.Throttled), 0},
		},
	}
}

// Crowd has the memory that many claimants of one key take.
type Crowd struct {
	Tier   string
	Claims int
	Bytes  uint64
	Left   int // goroutines that did not end
}

// Result of a crowd. A MB is 2^20 bytes.
func (c Crowd) Result() Result {
	return Result{
		Bench:   Heap,
		Labels:  []Label{{"tier", c.Tier}, {"claims", strconv.Itoa(c.Claims)}},
		Figures: []Figure{{"heap_mb", float64(c.Bytes) / (1 << 20), 1}, {"goroutines_left", float64(c.Left), 0}},
	}
}

// Thought is the processor time that an engine's core takes for claims that come at the same time.
type Thought struct {
	// Engine is the module's name.
	Engine string
	Claims int
	Took   time.Duration
}

// Result of a thought.
func (c Thought) Result() Result {
	return Result{
		Bench:   Cores,
		Labels:  []Label{{"engine", c.Engine}, {"n", strconv.Itoa(c.Claims)}},
		Figures: []Figure{{"core_s", c.Took.Seconds(), 3}},
	}
}
