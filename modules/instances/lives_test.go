package instances_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

var lives = flag.Int("lives", 40, "how many random lives over HTTP to run; with -short a quarter")

// life is a random life of a cluster over HTTP: claimants come and go, processes die,
// and requests fail, land late, or answer 404 in groups.
type life struct {
	*lab
	random *rand.Rand

	mu      sync.Mutex
	process *process
	// held has the instance that was returned to each claimant that still needs it.
	held map[string]int
	done bool
}

// TestLivesOverHTTP runs random lives with late writes and groups of wrong 404s: at the end each claimant has one instance, and none has
// lost an instance. A run of many lives must have had both faults.
func TestLivesOverHTTP(t *testing.T) {
	total := *lives
	if testing.Short() {
		total /= 4
	}
	var sums livesSums
	for seed := range uint64(total) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := &life{lab: newLab(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: seed}), held: map[string]int{},
					random: rand.New(rand.NewPCG(seed, 5))}
				sums.late += l.run()
				sums.groups += l.groups(groupOf404s)
				sums.lives++
			})
		})
	}
	t.Logf("%d lives, %d writes that landed late, %d groups of wrong 404s", sums.lives, sums.late, sums.groups)
	if !testing.Short() && sums.lives >= 20 && (sums.late < sums.lives || sums.groups < sums.lives/2) {
		t.Error("too few writes landed late, or too few wrong 404s came in a group: the lives miss what they are to show")
	}
}

// livesSums adds up what a run of lives has met.
type livesSums struct{ lives, late, groups int }

// groupOf404s is how long a group of wrong 404s lasts.
const groupOf404s = 15 * time.Second

// run returns how many writes landed late.
func (l *life) run() (late int) {
	l.process = l.start(instances.Config{})
	var group sync.WaitGroup
	for n := range 3 + l.random.IntN(8) {
		wait, keeps := l.draw(2*time.Minute), time.Duration(0)
		if l.random.IntN(3) == 0 {
			keeps = l.draw(3 * time.Minute)
		}
		s := spec(fmt.Sprintf("a-%d", n), "1")
		if l.random.IntN(3) == 0 {
			s = withDisks()
			s.Claimant.Name = fmt.Sprintf("a-%d", n)
		}
		group.Go(func() { l.claimant(s, wait, keeps) })
	}
	faults := l.faults()
	group.Go(l.sweeps)
	for range l.random.IntN(3) {
		time.Sleep(l.draw(2 * time.Minute))
		l.mu.Lock()
		l.process.kill()
		l.process = l.start(instances.Config{})
		l.mu.Unlock()
	}
	time.Sleep(7 * time.Minute)
	for _, rule := range faults {
		late += l.sim.Hits(rule)
	}
	l.sim.HealAll()
	time.Sleep(15 * time.Minute)
	l.mu.Lock()
	l.done = true
	l.mu.Unlock()
	group.Wait()
	l.checkEnd()
	return late
}

func (l *life) draw(most time.Duration) time.Duration {
	return time.Duration(l.random.Int64N(int64(most)))
}

// faults lets some requests go wrong for the next minutes, and returns the rules of
// the requests that land late.
func (l *life) faults() (late []linodesim.RuleID) {
	for range 1 + l.random.IntN(4) {
		method := [...]string{http.MethodPost, http.MethodPut, http.MethodDelete}[l.random.IntN(3)]
		late = append(late, l.sim.Fail(linodesim.Rule{
			Method: method, View: linodesim.View{Late: 100 * time.Second}, UpTo: true, Probability: 0.2 + 0.5*l.random.Float64(),
			Times: 1 + l.random.IntN(5), Hang: l.random.IntN(4) == 0,
		}))
	}
	if l.random.IntN(2) == 0 {
		wrong := notFound()
		wrong.Header = http.Header{wronglyHeader: {"1"}}
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: instanceRoute, Answer: wrong, Probability: 0.2, For: groupOf404s, Times: 3})
	}
	if l.random.IntN(2) == 0 {
		l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: 100 * time.Second}, UpTo: true, Probability: 0.5})
	}
	return late
}

func (l *life) current() *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.process
}

func (l *life) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// claimant calls Create until it has an instance, keeps it for a while, 0 for ever, and
// calls Delete until it is gone.
func (l *life) claimant(s instances.Spec, wait, keeps time.Duration) {
	time.Sleep(wait)
	var i instances.Instance
	for err := error(claims.Errorf(claims.KindProvisioning, "create", "", "not yet")); err != nil; time.Sleep(3 * time.Second) {
		if l.over() {
			l.t.Errorf("%s was never served: %v", s.Claimant.Name, err)
			return
		}
		ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
		i, err = l.current().Create(ctx, s)
		cancel()
	}
	l.hold(s.Claimant.Name, i.InstanceID)
	for end, edits := time.Now().Add(keeps), 0; keeps == 0 || time.Now().Before(end); time.Sleep(5 * time.Second) {
		if l.over() {
			l.checkTags(i.InstanceID, edits)
			return
		}
		edits = l.edit(i.InstanceID, s.Claimant, edits)
	}
	l.hold(s.Claimant.Name, 0)
	for !l.over() {
		ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
		err := l.current().Delete(ctx, i.InstanceID, s.Claimant)
		cancel()
		if claims.KindOf(err) == claims.KindNotFound {
			return
		}
		time.Sleep(5 * time.Second)
	}
	l.t.Errorf("%s does not get rid of %d", s.Claimant.Name, i.InstanceID)
}

// edit replaces the claimant's tag by the next one, up to eight times, and reads the
// instance.
func (l *life) edit(id int, by claims.Claimant, edits int) int {
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	if _, err := l.current().Get(ctx, id); claims.KindOf(err) == claims.KindNotFound {
		l.t.Errorf("%s is answered: %v", by.Name, err)
	}
	if edits == 8 || l.current().SetTags(ctx, id, by, []string{tagOf(edits)}, []string{tagOf(edits + 1)}) != nil {
		return edits
	}
	return edits + 1
}

func tagOf(edits int) string { return fmt.Sprintf("edit-%d", edits) }

// checkTags: no write of tags undid a later one.
func (l *life) checkTags(id, edits int) {
	for _, i := range l.ours() {
		for n := range edits + 2 {
			if i.ID == id && edits > 0 && slices.Contains(i.Tags, tagOf(n)) != (n == edits) {
				l.t.Errorf("%d after %d edits has the tags %v", id, edits, i.Tags)
			}
		}
	}
}

func (l *life) hold(name string, id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.held, name); id != 0 {
		l.held[name] = id
	}
}

// sweeps collects, and checks that what was returned exists.
func (l *life) sweeps() {
	for !l.over() {
		time.Sleep(30 * time.Second)
		ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
		_, _ = l.current().Collect(ctx, claims.Sweep{Alive: func(context.Context) ([]claims.Claimant, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			var alive []claims.Claimant
			for name := range l.held {
				alive = append(alive, claims.Claimant{Name: name, UID: "1"})
			}
			return alive, nil
		}})
		cancel()
		l.checkHeld()
	}
}

func (l *life) checkHeld() {
	there := map[int]bool{}
	for _, i := range l.ours() {
		there[i.ID] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, id := range l.held {
		if !there[id] {
			l.t.Errorf("%s has lost %d", name, id)
			delete(l.held, name)
		}
	}
}

func (l *life) checkEnd() {
	all := l.ours()
	if len(all) != len(l.held) {
		l.t.Errorf("%d instances for %d claimants", len(all), len(l.held))
	}
	for _, i := range all {
		if i.Status != linodesim.StatusRunning {
			l.t.Errorf("%s is %s", i.Label, i.Status)
		}
	}
}
