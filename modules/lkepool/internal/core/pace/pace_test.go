package pace_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/pace"
)

// Where a look is a list, late nodes are looked for after a tenth of the
// time that has passed: an eighth alone would use up most of what a burst may take longer than
// the platform itself.
func TestLateNodesAreLookedForAfterATenthOfTheTime(t *testing.T) {
	began := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	var looks pace.Pace
	looks.Next(began, 100, 2*time.Second)
	looks.Next(began.Add(40*time.Second), 60, 2*time.Second)
	looks.Next(began.Add(60*time.Second), 20, 2*time.Second)
	if pause := looks.Next(began.Add(64*time.Second), 20, 2*time.Second); pause != 6400*time.Millisecond {
		t.Errorf("the pause is %s", pause)
	}
}

// The looks for a burst that comes after a time, in seconds after the purchase.
func TestLooksForABurst(t *testing.T) {
	const second, soon = time.Second, 5 * time.Second
	reads := pace.Settings{Dense: true, Near: second, Soon: soon}
	lists := pace.Settings{Near: 2300 * time.Millisecond, Soon: soon}
	measured := func(few int, due time.Duration) pace.Settings {
		return pace.Settings{Dense: true, Near: second, Few: few, Measured: true, Due: due}
	}
	for name, c := range map[string]struct {
		known pace.Settings
		takes time.Duration
		want  string
	}{
		"nothing known, a look is a read":        {reads, 12 * second, "1 2 3 4 5 8.3 13.9"},
		"nothing known, a look is a list":        {lists, 12 * second, "1 3.3 5.6 13.5"},
		"the last nodes came after 5 s":          {measured(0, 4*second), 5 * second, "1 4 5"},
		"the last nodes came after a minute":     {measured(0, 50*second), 55 * second, "1 3.5 9.8 50 57.5"},
		"they did, and come after 8 s now":       {measured(0, 50*second), 8 * second, "1 3.5 9.8"},
		"few nodes, whatever the last ones took": {measured(20, 50*second), 4 * second, "1 2 3 4"},
		"they came at once, and are late now":    {measured(0, 0), 9 * second, "1 2 3 4 5 6 7 8.1 9.3"},
	} {
		t.Run(name, func(t *testing.T) {
			bought := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
			looks := pace.Pace{Settings: c.known}
			looks.Grow(bought)
			pending := 100
			if c.known.Few > 0 {
				pending = c.known.Few
			}
			var at []string
			for after := second; ; {
				at = append(at, strconv.FormatFloat(math.Round(after.Seconds()*10)/10, 'g', -1, 64))
				if after >= c.takes {
					break
				}
				after += looks.Next(bought.Add(after), pending, second)
			}
			if got := strings.Join(at, " "); got != c.want {
				t.Errorf("looks at %s, want %s", got, c.want)
			}
		})
	}
}
