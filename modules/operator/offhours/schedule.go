package offhours

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the operator's image has no time zone database

	"github.com/robfig/cron/v3"
	"sigs.k8s.io/yaml"
)

// Schedule has the windows in which a NodePool has no nodes.
type Schedule struct {
	windows []window
	lead    time.Duration
	zone    *time.Location
}

type window struct {
	starts   *cron.SpecSchedule
	duration time.Duration
}

// Period is a time of off-hours. Windows that overlap or touch are one period.
type Period struct {
	Start time.Time // of a period that has not begun; zero if it has begun
	Wake  time.Time // the time from which the NodePool may have nodes again
	End   time.Time
}

// text has the fields of the annotation.
type text struct {
	TimeZone   string `json:"timeZone"`
	WakeBefore string `json:"wakeBefore"`
	Windows    []struct {
		Schedule string `json:"schedule"`
		Duration string `json:"duration"`
	} `json:"windows"`
}

const (
	maxWindows = 20
	maxLink    = 1000 // the most windows in a row without a gap; more count as a schedule without an end
)

const example = `for example {timeZone: Europe/Berlin, wakeBefore: 10m, windows: [{schedule: "0 19 * * mon-fri", duration: 12h}]}`

var (
	schedules = regexp.MustCompile(`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$`)
	minutes   = regexp.MustCompile(`^([0-9]{1,5}h)?([0-9]{1,7}m)?(0s)?$`)
)

// Parse reads the annotation. An error names the field, its value and a correct value. Each window must have a start after now, and the
// period of this start must have an end.
func Parse(annotation string, now time.Time) (*Schedule, error) {
	var t text
	if err := yaml.UnmarshalStrict([]byte(annotation), &t); err != nil {
		return nil, fmt.Errorf("it is not valid YAML with the fields timeZone, wakeBefore and windows (%s): use them, %s",
			short(err.Error()), example)
	}
	s := &Schedule{}
	var err error
	if s.zone, err = zone(t.TimeZone); err != nil {
		return nil, err
	}
	if s.lead, err = duration("wakeBefore", t.WakeBefore, true); err != nil {
		return nil, err
	}
	if len(t.Windows) == 0 || len(t.Windows) > maxWindows {
		return nil, fmt.Errorf("windows has %d entries: use 1 to %d, %s", len(t.Windows), maxWindows, example)
	}
	for i, given := range t.Windows {
		field := fmt.Sprintf("windows[%d]", i)
		w := window{}
		if w.starts, err = starts(field+".schedule", given.Schedule, s.zone, now); err != nil {
			return nil, err
		}
		if w.duration, err = duration(field+".duration", given.Duration, false); err != nil {
			return nil, err
		}
		if w.duration <= s.lead {
			return nil, fmt.Errorf("wakeBefore is %s and %s.duration %s: use a wakeBefore that is shorter than each duration", t.WakeBefore, field,
				given.Duration)
		}
		s.windows = append(s.windows, w)
	}
	for _, w := range s.windows {
		if _, ends := s.end(w.starts.Next(now)); !ends {
			return nil, fmt.Errorf(`windows leave no gap: use windows that end before the next one begins, or spec.limits {nodes: "0"} without off-hours`)
		}
	}
	return s, nil
}

func zone(name string) (*time.Location, error) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("timeZone is %q: use a name of the time zone database such as Europe/Berlin, or leave it out for UTC", short(name))
	}
	return location, nil
}

// starts parses a schedule in the form of Karpenter's disruption budgets. It refuses two forms that the library also accepts: TZ=, on which
// the library may panic, and @every, which counts from the start of the process.
func starts(field, given string, zone *time.Location, now time.Time) (*cron.SpecSchedule, error) {
	given = strings.TrimSpace(given)
	wrong := func(why string) error {
		return fmt.Errorf("%s is %q (%s): use the five fields of cron such as \"0 19 * * mon-fri\", or @daily", field, short(given), why)
	}
	if strings.Contains(given, "TZ=") {
		return nil, wrong("the time zone is the field timeZone")
	}
	if !schedules.MatchString(given) {
		return nil, wrong("it does not have five fields")
	}
	parsed, err := cron.ParseStandard(given)
	if err != nil {
		return nil, wrong(short(err.Error()))
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, wrong("it has no fixed times")
	}
	spec.Location = zone
	if spec.Next(now).IsZero() {
		return nil, wrong("there is no such day")
	}
	return spec, nil
}

func duration(field, given string, optional bool) (time.Duration, error) {
	if optional && given == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || !minutes.MatchString(given) || d <= 0 && !optional {
		return 0, fmt.Errorf("%s is %q: use hours and minutes such as 12h or 1h30m", field, short(given))
	}
	return d, nil
}

// short bounds the text of a user or a library in a message.
func short(s string) string {
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// Now returns the period in which the NodePool is held at a time. It returns false outside of periods, and from Period.Wake to the end of a
// period.
func (s *Schedule) Now(now time.Time) (Period, bool) {
	end, _ := s.end(now)
	p := Period{Wake: end.Add(-s.lead).In(s.zone), End: end.In(s.zone)}
	return p, now.Before(p.Wake)
}

// Next returns the next period that begins after a time.
func (s *Schedule) Next(now time.Time) Period {
	var first time.Time
	for _, w := range s.windows {
		if start := w.starts.Next(now); first.IsZero() || start.Before(first) {
			first = start
		}
	}
	end, _ := s.end(first)
	return Period{Start: first.In(s.zone), Wake: end.Add(-s.lead).In(s.zone), End: end.In(s.zone)}
}

// end returns the end of the period that contains a time, or the time itself if no period contains it. ok is false if the period has no
// end.
func (s *Schedule) end(at time.Time) (end time.Time, ok bool) {
	for range maxLink {
		last := at
		for _, w := range s.windows {
			if start, found := w.latest(at); found {
				if end := w.end(start); end.After(last) {
					last = end
				}
			}
		}
		if !last.After(at) {
			return at, true
		}
		at = last
	}
	return at, false
}

// end adds the duration to the time that clocks show: a window from 19:00 for 12h ends at 7:00 also in a night in which the clock changes,
// after 11 or 13 hours.
func (w window) end(start time.Time) time.Time {
	start = start.In(w.starts.Location)
	minute := start.Minute() + int(w.duration/time.Minute)
	return time.Date(start.Year(), start.Month(), start.Day(), start.Hour(), minute, 0, 0, start.Location())
}

// latest returns the last start of the window at or before a time, false if every earlier start is too old for its window to contain the
// time. A cron schedule only returns the next start after a time. So latest looks for a start in the last 1, 2, 4, ... minutes: a schedule
// may have a start in each minute, and latest must not step through all of them.
func (w window) latest(at time.Time) (time.Time, bool) {
	const clockChange = 2 * time.Hour
	for back := time.Minute; ; back *= 2 {
		far := back >= w.duration+clockChange
		start := w.starts.Next(at.Add(-min(back, w.duration+clockChange)))
		if start.After(at) || start.IsZero() {
			if far {
				return time.Time{}, false
			}
			continue
		}
		for next := w.starts.Next(start); !next.After(at) && !next.IsZero(); next = w.starts.Next(start) {
			start = next
		}
		return start, true
	}
}
