package absence_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
)

const settle = 4 * time.Second

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// read is a direct read that answered 404, in seconds.
type read struct{ sent, answered float64 }

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func TestWhatProvesThatAnObjectIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		reads   []read
		lists   []float64
		removed float64
		gone    bool
	}{
		"nothing":                                     {},
		"a list alone":                                {lists: []float64{60}},
		"one 404 and a list":                          {reads: []read{{1, 1}}, lists: []float64{60}},
		"two 404s at once and a list":                 {reads: []read{{1, 1}, {2, 2}}, lists: []float64{60}},
		"two 404s the settle time apart":              {reads: []read{{1, 1}, {5, 5}}},
		"two 404s and a list after them":              {reads: []read{{1, 1}, {5, 5}}, lists: []float64{5}, gone: true},
		"two 404s and a list between them":            {reads: []read{{1, 1}, {5, 5}}, lists: []float64{4}},
		"a list from before the second was answered":  {reads: []read{{1, 1}, {5, 9}}, lists: []float64{8}},
		"a first one that waited, a second soon":      {reads: []read{{1, 16}, {16.12, 16.3}}, lists: []float64{60}},
		"a first one that waited, a second later":     {reads: []read{{1, 16}, {20, 20.3}}, lists: []float64{60}, gone: true},
		"a third one is far enough":                   {reads: []read{{1, 1}, {2, 2}, {5, 5}}, lists: []float64{6}, gone: true},
		"a removal alone":                             {removed: 1},
		"a removal and one 404":                       {removed: 1, reads: []read{{2, 2}}},
		"a removal and two 404s":                      {removed: 1, reads: []read{{2, 2}, {6, 6}}, gone: true},
		"a removal, one 404 and a list":               {removed: 1, reads: []read{{2, 2}}, lists: []float64{3}, gone: true},
		"a removal and a list":                        {removed: 1, lists: []float64{3}},
		"a removal, one 404 and a list from before":   {removed: 5, reads: []read{{2, 2}}, lists: []float64{3}},
		"a removal, two 404s too close to each other": {removed: 1, reads: []read{{2, 2}, {3, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			var p absence.Proof
			for _, r := range c.reads {
				p.Missed(at(r.sent), at(r.answered), settle)
			}
			for _, list := range c.lists {
				p.Lacked(at(list))
			}
			removed := time.Time{}
			if c.removed > 0 {
				removed = at(c.removed)
			}
			if p.Gone(removed) != c.gone {
				t.Errorf("gone: %t, want %t: %+v", !c.gone, c.gone, p)
			}
		})
	}
}

func TestSinceIsTheLastAnswerThatCounts(t *testing.T) {
	var p absence.Proof
	if p.Begun() || p.Twice() || !p.Since().IsZero() {
		t.Errorf("%+v", p)
	}
	p.Missed(at(1), at(2), settle)
	if !p.Begun() || p.Twice() || !p.Since().Equal(at(2)) {
		t.Errorf("%+v", p)
	}
	p.Missed(at(6), at(7), settle)
	if !p.Twice() || !p.Since().Equal(at(7)) {
		t.Errorf("%+v", p)
	}
}
