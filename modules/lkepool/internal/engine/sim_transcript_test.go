package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestSituations runs the transcripts of testdata/situations, each on both
// tiers: what they show must not depend on the tier. One whose name ends in a tier
// is about something that the other one does not have. testdata/README.md
// describes their words. -rewrite writes down what happens.
func TestSituations(t *testing.T) {
	files, err := filepath.Glob("testdata/situations/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		for _, tier := range []string{"standard", "enterprise"} {
			if other := map[string]string{"standard": "enterprise", "enterprise": "standard"}[tier]; strings.HasSuffix(file, "-"+other+".txt") {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+tier, func(t *testing.T) {
				scene := newScene(tier == "enterprise")
				t.Cleanup(func() {
					if t.Failed() {
						t.Log(scene.trace.String())
					}
				})
				datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return scene.command(t, d) })
			})
		}
	}
}

// scene is one transcript being played.
type scene struct {
	*sim
	lines []string
	// counted are the calls at the last count.
	counted int
}

func newScene(enterprise bool) *scene {
	plan := &simSchedule{seed: 1, enterprise: enterprise, world: simWeather{
		latency: 200 * time.Millisecond, idLeast: 5 * time.Second, idMost: 5 * time.Second, orphanTTL: 5 * time.Minute, exact: true,
	}}
	sc := &scene{sim: newSim(plan, &strings.Builder{})}
	sc.delays.listed, sc.delays.tagged = 30*time.Second, 0
	sc.wrote = func(a Action, e *simEffect) {
		text := sc.sceneLine(a)
		if e.fate.kind != faultNone {
			text += ": " + e.fate.kind.String()
		}
		sc.line("%s", text)
	}
	return sc
}

// command plays one command and returns what happened.
func (sc *scene) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	words := sceneWords{d}
	if d.Cmd != "platform" && d.Cmd != "fault" && sc.process.life == 0 && sc.process.core == nil {
		sc.lead()
		sc.runUntil(sc.Now + 5*time.Second)
	}
	sc.note("# %s", d.Pos)
	commands := map[string]func(sceneWords) error{
		"platform": sc.platform, "fault": sc.addFault, "claim": sc.comes, "burst": sc.burst, "release": sc.releases, "gone": sc.ends,
		"wait": sc.passes, "until": sc.until, "restart": sc.restarts, "hand": sc.hand, "list": sc.lists, "sweep": sc.sweepsNow,
		"show": sc.show, "calls": sc.callsSince, "gap": sc.gap,
		"get": sc.gets, "missed": sc.missed,
	}
	run, ok := commands[d.Cmd]
	if !ok {
		d.Fatalf(t, "%q is no command; there are platform, fault, claim, burst, release, gone, wait, until, restart, hand, list, sweep, show, "+
			"calls, gap, get, missed", d.Cmd)
	}
	if err := run(words); err != nil {
		d.Fatalf(t, "%v", err)
	}
	if sc.failure != "" {
		t.Log(sc.trace.String())
		d.Fatalf(t, "violation %s", sc.failure)
	}
	if words.flag("quiet") {
		sc.lines = nil
	}
	return sc.happened()
}

// happened are the lines since the last command.
func (sc *scene) happened() string {
	slices.Sort(sc.lines)
	var lines []string
	for _, line := range sc.lines {
		if again := line + ", again and again"; len(lines) > 0 && (lines[len(lines)-1] == line || lines[len(lines)-1] == again) {
			lines[len(lines)-1] = again
			continue
		}
		lines = append(lines, line)
	}
	sc.lines = nil
	return strings.Join(lines, "\n")
}

// sceneWords reads the arguments of a command.
type sceneWords struct{ *datadriven.TestData }

func (w sceneWords) text(key, usual string) string {
	for _, arg := range w.CmdArgs {
		if arg.Key == key && len(arg.Vals) == 1 {
			return arg.Vals[0]
		}
	}
	return usual
}

func (w sceneWords) span(key string, usual time.Duration) time.Duration {
	span, err := time.ParseDuration(w.text(key, usual.String()))
	if err != nil {
		panic(fmt.Sprintf("%s: %s: %v", w.Pos, key, err))
	}
	return span
}

func (w sceneWords) number(key string, usual int) int {
	n := usual
	if text := w.text(key, ""); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			panic(fmt.Sprintf("%s: %s: %v", w.Pos, key, err))
		}
	}
	return n
}

func (w sceneWords) flag(key string) bool {
	return slices.ContainsFunc(w.CmdArgs, func(arg datadriven.CmdArg) bool { return arg.Key == key && len(arg.Vals) == 0 })
}

// names are the arguments without a value.
func (w sceneWords) names() (names []string) {
	for _, arg := range w.CmdArgs {
		if len(arg.Vals) == 0 {
			names = append(names, arg.Key)
		}
	}
	return names
}

func (sc *scene) line(format string, args ...any) {
	sc.lines = append(sc.lines, fmt.Sprintf(format, args...))
	sc.note("%s", fmt.Sprintf(format, args...))
}

// The names of pools and instances are p1, p2 and n1, n2 in the order in which
// they came.

func (sc *scene) poolName(id int) string {
	n := 0
	for _, of := range sc.pools {
		if !of.foreign {
			n++
		}
		if of.ID == id {
			return fmt.Sprintf("p%d", n)
		}
	}
	return "p?"
}

func (sc *scene) nodeName(id int) string {
	n := 0
	for _, i := range sc.instances {
		if !i.pool.foreign {
			n++
		}
		if i.ID == id {
			return fmt.Sprintf("n%d", n)
		}
	}
	return "n?"
}

func (sc *scene) node(name string) (*simInstance, error) {
	for _, i := range sc.instances {
		if !i.pool.foreign && sc.nodeName(i.ID) == name {
			return i, nil
		}
	}
	return nil, fmt.Errorf("there is no instance %s", name)
}

func (sc *scene) poolNamed(name string) (*simPool, error) {
	for _, of := range sc.pools {
		if !of.foreign && sc.poolName(of.ID) == name {
			return of, nil
		}
	}
	return nil, fmt.Errorf("there is no pool %s", name)
}

func (sc *scene) claimant(name string) (*simClaimant, error) {
	for _, c := range slices.Backward(sc.claimants) {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no claimant %s", name)
}
