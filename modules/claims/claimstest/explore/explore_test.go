package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore"
)

// inner holds the value that things share.
type inner struct {
	n    int
	self *inner
	of   map[string]*inner
	list [][]int
	any  any
	err  error
	at   time.Time
	call func()
	four [2]*inner
}

type fixed struct{ n int }

func (*fixed) SharedByClones() {}

type outer struct {
	a, b  *inner
	fixed *fixed
}

func full() *outer {
	in := &inner{n: 1, list: [][]int{{1, 2}, nil}, any: &inner{n: 7}, err: errors.New("no"), at: time.Unix(5, 0)}
	in.self = in
	in.of = map[string]*inner{"x": in, "y": {n: 3}, "z": {n: 4}}
	in.four[1] = in
	return &outer{a: in, b: in, fixed: &fixed{9}}
}

func TestACloneSharesNothingThatChanges(t *testing.T) {
	of := full()
	p := explore.NewPrinter()
	before := p.Fingerprint(&of)
	copied := explore.Clone(of)
	if p.Fingerprint(&copied) != before {
		t.Error("the clone differs")
	}
	if copied.a == of.a || copied.a != copied.b || copied.a.self != copied.a || copied.a.of["x"] != copied.a || copied.a.four[1] != copied.a {
		t.Error("what was one thing is not one in the clone")
	}
	if copied.fixed != of.fixed {
		t.Error("what never changes was copied")
	}
	for name, change := range map[string]func(*inner){
		"a number": func(i *inner) { i.n++ }, "a map": func(i *inner) { i.of["w"] = nil }, "a value of a map": func(i *inner) { i.of["y"].n++ },
		"a slice in a slice": func(i *inner) { i.list[0][1]++ }, "what an interface holds": func(i *inner) { i.any.(*inner).n++ },
		"an error": func(i *inner) { i.err = errors.New("yes") }, "a time": func(i *inner) { i.at = i.at.Add(1) },
		"a function": func(i *inner) { i.call = func() {} }, "which thing is meant": func(i *inner) { i.four[1] = i.of["y"] },
	} {
		changed := explore.Clone(of)
		change(changed.a)
		if p.Fingerprint(&changed) == before {
			t.Errorf("%s does not count", name)
		}
		if p.Fingerprint(&of) != before {
			t.Fatalf("%s of a clone changed the original", name)
		}
	}
}

func TestAFingerprintLeavesOutWhatItIsTold(t *testing.T) {
	p := explore.NewPrinter("explore_test.inner.n")
	of, other := full(), full()
	other.a.n++
	if p.Fingerprint(&of) != p.Fingerprint(&other) {
		t.Error("an ignored field counts")
	}
}

// lamps is a world of lamps that are switched on in any order, the last one breaks it if
// bad is set.
type lamps struct {
	on  []bool
	bad int
	// random makes a World whose moves cannot be repeated.
	random *int
	seen   int
}

func (l *lamps) Moves() (moves []int) {
	for i, on := range l.on {
		if !on {
			moves = append(moves, i)
		}
	}
	return moves
}

func (l *lamps) Take(i int) {
	l.on[i] = true
	if l.random != nil {
		*l.random++
		l.seen = *l.random
	}
	if l.bad < 0 && i == -l.bad {
		panic("burnt")
	}
}

func (l *lamps) Broken() string {
	if l.bad > 0 && l.on[l.bad] && !l.on[0] {
		return fmt.Sprintf("lamp %d is on before lamp 0", l.bad)
	}
	return ""
}

func (l *lamps) Text(i int) string { return fmt.Sprint("lamp ", i) }

func search(bad int) explore.Search[*lamps, int] {
	return explore.Search[*lamps, int]{Start: func() *lamps { return &lamps{on: make([]bool, 5), bad: bad} }, Recheck: 1}
}

// Five lamps have 32 states, 80 steps and 120 orders, with any number of workers.
func TestASearchIsCompleteAndCountsTheSame(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		s := search(0)
		s.Workers = workers
		r := s.Run()
		if r.States != 32 || r.Steps != 80 || r.Orders != 120 || r.Ends != 1 || r.Depth != 5 || !r.Complete || len(r.Failed) > 0 {
			t.Errorf("%d workers: %s %v", workers, r, r.Failed)
		}
	}
}

func TestAViolationComesWithItsMoves(t *testing.T) {
	r := search(3).Run()
	if len(r.Failed) != 1 || r.Complete || !slices.Contains(r.Failed[0].Moves, "lamp 3") || r.Failed[0].Why != "lamp 3 is on before lamp 0" {
		t.Errorf("%+v", r)
	}
	if r := search(-2).Run(); len(r.Failed) != 1 || r.Failed[0].Why != "panic: burnt" {
		t.Errorf("%+v", r)
	}
}

func TestABoundOfStatesEndsASearch(t *testing.T) {
	s := search(0)
	s.Most = 10
	if r := s.Run(); r.Complete || r.States < 10 || r.States > 15 || !strings.Contains(r.String(), "not complete") {
		t.Error(r)
	}
}

// A world that takes another course when its moves are repeated proves nothing.
func TestAWorldThatCannotBeRepeatedIsAViolation(t *testing.T) {
	total := 0
	s := search(0)
	start := s.Start
	s.Start = func() *lamps {
		world := start()
		world.random = &total
		return world
	}
	if r := s.Run(); len(r.Failed) == 0 || !strings.Contains(r.Failed[0].Why, "repeated") {
		t.Errorf("%s: %v", r, r.Failed)
	}
}
