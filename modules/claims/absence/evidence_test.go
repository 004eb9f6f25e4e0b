package absence_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
)

var bounds = absence.Bounds{Settle: settle, Lag: 2 * time.Minute}

func TestEvidenceFollowsOneRuleInBothDirections(t *testing.T) {
	shows := func(began float64, direct bool) absence.Fact {
		return absence.Fact{Began: at(began), Answered: at(began + 0.1), Direct: direct, Shows: true}
	}
	lacks := func(began float64, direct bool) absence.Fact {
		return absence.Fact{Began: at(began), Answered: at(began + 0.1), Direct: direct}
	}
	gone := []absence.Fact{shows(0, false), lacks(300, true), lacks(305, true), lacks(310, false)}
	young := []absence.Fact{shows(290, false), lacks(300, true), lacks(305, true), lacks(310, false)}
	removed := []absence.Fact{shows(0, true), lacks(4, true), lacks(130, false)}
	older := []absence.Fact{shows(0, true), lacks(4, true), shows(3, true)}
	late := append(gone[:4:4], shows(312, true))
	for name, c := range map[string]struct {
		facts                 []absence.Fact
		removed               float64
		missing, begun, ended bool
		// ignored is the last fact's.
		ignored bool
	}{
		"shown":                                        {facts: []absence.Fact{shows(0, false)}},
		"a list lacks it":                              {facts: []absence.Fact{shows(0, false), lacks(1, false)}, missing: true},
		"a list from before one that shows it":         {facts: []absence.Fact{shows(5, false), lacks(1, false)}, ignored: true},
		"a 404 from before a read that shows it":       {facts: []absence.Fact{shows(5, true), lacks(4, true)}, ignored: true},
		"a read shows it after a 404":                  {facts: []absence.Fact{shows(0, true), lacks(4, true), shows(5, true)}},
		"a list shows it after a 404":                  {facts: []absence.Fact{shows(0, true), lacks(4, true), shows(5, false)}},
		"a read from before the 404 shows it":          {facts: older, missing: true, begun: true},
		"proven gone":                                  {facts: gone, missing: true, begun: true, ended: true},
		"two 404s and a list that may be older":        {facts: young, missing: true, begun: true},
		"a removal that was accepted and both":         {facts: removed, removed: 3, missing: true, begun: true, ended: true},
		"a late list shows what is gone":               {facts: append(gone[:4:4], shows(400, false)), missing: true, begun: true, ended: true, ignored: true},
		"a list that began the lag later shows it":     {facts: append(gone[:4:4], shows(431, false))},
		"a read that began the settle time later does": {facts: append(gone[:4:4], shows(315, true))},
		"a read that may be older shows what is gone":  {facts: late, missing: true, begun: true, ended: true, ignored: true},
	} {
		t.Run(name, func(t *testing.T) {
			var e absence.Evidence
			believed := false
			for _, f := range c.facts {
				var accepted time.Time
				if c.removed > 0 {
					accepted = at(c.removed)
				}
				believed = e.Hear(f, bounds, accepted)
			}
			if e.Missing.IsZero() == c.missing || e.Begun() != c.begun || e.Ended.IsZero() == c.ended || believed == c.ignored {
				t.Errorf("believed %t: %+v", believed, e)
			}
			if e.First.IsZero() || e.Last.IsZero() {
				t.Errorf("never shown: %+v", e)
			}
		})
	}
}

func TestAFactCoversWhatItCannotPredate(t *testing.T) {
	for _, c := range []struct {
		direct bool
		began  float64
		covers bool
	}{{true, 3.9, false}, {true, 4, true}, {false, 119, false}, {false, 120, true}} {
		if f := (absence.Fact{Began: at(c.began), Direct: c.direct}); f.Covers(start, bounds) != c.covers {
			t.Errorf("direct %t at %g s: %t, want %t", c.direct, c.began, !c.covers, c.covers)
		}
	}
}
