package linodesim

import (
	"strings"
	"testing"
	"time"
)

func TestTheChartOfLinodesEndsWithHowManyThereAre(t *testing.T) {
	now := time.Unix(1_800_000_002, 0)
	entry := func(ago time.Duration, action string) Entry {
		return Entry{At: now.Add(-ago), Action: action}
	}
	for _, c := range []struct {
		name  string
		alive int
		audit []Entry
		most  int
		begin string // the first point's height: 60.0 stands for no load
		end   string
	}{
		{"nothing happened", 2, nil, 2, "0,0.0 ", " 600,0.0"},
		{"none at all", 0, nil, 0, "0,60.0 ", " 600,60.0"},
		{"one came", 2, []Entry{entry(time.Minute, InstanceCreated)}, 2, "0,30.0 ", " 600,0.0"},
		{"two came and one went", 1, []Entry{
			entry(3*time.Minute, InstanceCreated), entry(2*time.Minute, InstanceCreated), entry(time.Minute, InstanceGone),
		}, 2, "0,60.0 ", " 600,30.0"},
		{"one came before the chart begins", 1, []Entry{entry(time.Hour, InstanceCreated)}, 1, "0,0.0 ", " 600,0.0"},
		{"one came just now", 1, []Entry{entry(0, InstanceCreated)}, 1, "0,60.0 ", " 600,0.0"},
		{"tags changed", 1, []Entry{entry(time.Minute, InstanceTagged)}, 1, "0,0.0 ", " 600,0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := instanceChart(now, c.alive, c.audit)
			if got.Now != c.alive || got.Most != c.most || !strings.HasPrefix(got.Points, c.begin) || !strings.HasSuffix(got.Points, c.end) {
				t.Errorf("now %d, most %d, points %.20s ... %s", got.Now, got.Most, got.Points, got.Points[len(got.Points)-20:])
			}
		})
	}
}

func TestOldCallsAreForgotten(t *testing.T) {
	s, start := steps{}, time.Unix(1_800_000_000, 0)
	for i := range 10 * chartSteps {
		s.add(start.Add(time.Duration(i) * chartStep))
	}
	if len(s) > 2*chartSteps {
		t.Errorf("%d steps are kept", len(s))
	}
}
