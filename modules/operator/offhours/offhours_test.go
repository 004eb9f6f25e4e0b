package offhours_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

const nights = `{timeZone: Europe/Berlin, wakeBefore: 10m, windows: [
  {schedule: "0 19 * * mon-thu", duration: 12h}, {schedule: "0 19 * * fri", duration: 60h}]}`

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestPeriods(t *testing.T) {
	for name, tt := range map[string]struct {
		annotation, now string
		wake            string // "" = not held
		next            string // start, wake and end of the next period
	}{
		"a Monday at noon":               {nights, "2026-11-30T12:00:00+01:00", "", "2026-11-30T19:00 2026-12-01T06:50 2026-12-01T07:00"},
		"the start":                      {nights, "2026-11-30T19:00:00+01:00", "2026-12-01T06:50:00+01:00", ""},
		"a moment before the start":      {nights, "2026-11-30T18:59:59+01:00", "", "2026-11-30T19:00 2026-12-01T06:50 2026-12-01T07:00"},
		"the night":                      {nights, "2026-12-01T03:00:00+01:00", "2026-12-01T06:50:00+01:00", ""},
		"awake before the end":           {nights, "2026-12-01T06:50:00+01:00", "", "2026-12-01T19:00 2026-12-02T06:50 2026-12-02T07:00"},
		"a Sunday":                       {nights, "2026-11-29T12:00:00Z", "2026-11-30T06:50:00+01:00", ""},
		"clocks are put back at 3:00":    {nights, "2026-10-25T12:00:00Z", "2026-10-26T06:50:00+01:00", ""},
		"clocks are put forward at 2:00": {nights, "2026-03-29T12:00:00Z", "2026-03-30T06:50:00+02:00", ""},
		"UTC without a zone":             {`{windows: [{schedule: "@daily", duration: 1h30m}]}`, "2026-11-30T01:00:00Z", "2026-11-30T01:30:00Z", ""},
		"windows that touch are one": {`{windows: [{schedule: "0 20 * * *", duration: 4h}, {schedule: "0 0 * * *", duration: 6h}]}`,
			"2026-11-30T21:00:00Z", "2026-12-01T06:00:00Z", ""},
		"windows that overlap are one": {`{wakeBefore: 30m, windows: [{schedule: "0 20 * * *", duration: 4h}, {schedule: "0 22 * * *", duration: 8h}]}`,
			"2026-11-30T23:45:00Z", "2026-12-01T05:30:00Z", ""},
		"a schedule that starts each minute": {`{windows: [{schedule: "* 0-5 * * *", duration: 3h}]}`, "2026-11-30T08:30:00Z",
			"2026-11-30T08:59:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := at(t, tt.now)
			s, err := offhours.Parse(tt.annotation, now)
			if err != nil {
				t.Fatal(err)
			}
			p, held := s.Now(now)
			if held != (tt.wake != "") || held && !p.Wake.Equal(at(t, tt.wake)) {
				t.Errorf("held %v, wakes %v; want %q", held, p.Wake, tt.wake)
			}
			const short = "2006-01-02T15:04"
			if n := s.Next(now); tt.next != "" && tt.next != n.Start.Format(short)+" "+n.Wake.Format(short)+" "+n.End.Format(short) {
				t.Errorf("next %v, want %s", n, tt.next)
			}
		})
	}
}

// TestNowAgreesWithADumbReading compares Now with a reading that looks at each minute: a start is a minute in which cron fires.
func TestNowAgreesWithADumbReading(t *testing.T) {
	for _, annotation := range []string{nights, `{wakeBefore: 7m, windows: [{schedule: "*/25 3,4 * * *", duration: 40m}, {schedule: "5 5 * * sun", duration: 9h}]}`} {
		begin := at(t, "2026-10-23T00:00:00Z") // clocks are put back in the night of the 25th
		s, err := offhours.Parse(annotation, begin)
		if err != nil {
			t.Fatal(err)
		}
		var off []bool
		until := time.Time{} // the latest end of a window that has begun
		const minutes = 5 * 24 * 60
		for i := range minutes {
			now := begin.Add(time.Duration(i) * time.Minute)
			if n := s.Next(now.Add(-time.Second)); n.Start.Equal(now) && n.End.After(until) {
				until = n.End
			}
			off = append(off, now.Before(until))
		}
		for i := range minutes - 24*60 {
			now := begin.Add(time.Duration(i) * time.Minute)
			p, held := s.Now(now)
			lead := p.End.Sub(p.Wake)
			want := true
			for j := range int(lead/time.Minute) + 1 {
				want = want && off[i+j]
			}
			if i > 12*60 && held != want {
				t.Fatalf("%v: held %v, want %v", now, held, want)
			}
		}
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	window := func(schedule string) string { return fmt.Sprintf("windows: [{schedule: %q, duration: 1h}]", schedule) }
	for name, tt := range map[string]struct{ annotation, want string }{
		"no YAML":                 {"0 19 * * mon-fri", "use them, for example {timeZone"},
		"an unknown field":        {"{zone: UTC}", `unknown field "zone"`},
		"a list":                  {"[1]", "use them"},
		"nothing":                 {"", "windows has 0 entries"},
		"no zone":                 {"{timeZone: Mars, " + window("@daily") + "}", `timeZone is "Mars"`},
		"the machine's zone":      {"{timeZone: Local, " + window("@daily") + "}", `timeZone is "Local"`},
		"a file as zone":          {"{timeZone: ../../etc/passwd, " + window("@daily") + "}", `timeZone is "../../etc/passwd"`},
		"seconds":                 {`{windows: [{schedule: "@daily", duration: 90s}]}`, `windows[0].duration is "90s": use hours and minutes`},
		"no duration":             {`{windows: [{schedule: "@daily"}]}`, `windows[0].duration is ""`},
		"a negative lead":         {"{wakeBefore: -5m, " + window("@daily") + "}", `wakeBefore is "-5m"`},
		"a lead that is too long": {"{wakeBefore: 1h, " + window("@daily") + "}", "wakeBefore is 1h and windows[0].duration 1h"},
		"four fields":             {"{" + window("0 19 * *") + "}", `windows[0].schedule is "0 19 * *"`},
		"an hour too late":        {"{" + window("0 25 * * *") + "}", "above maximum"},
		"a zone in the schedule":  {"{" + window("CRON_TZ=UTC 0 1 * * *") + "}", "the time zone is the field timeZone"},
		"a zone that panics":      {"{" + window("TZ=0") + "}", "the time zone is the field timeZone"},
		"from the process's time": {"{" + window("@every 5m") + "}", "five fields"},
		"the 30th of February":    {"{" + window("0 0 30 2 *") + "}", "no such day"},
		"no gap":                  {"{" + window("* * * * *") + "}", "leave no gap"},
		"too many":                {"windows:" + strings.Repeat("\n- {schedule: '@daily', duration: 1h}", 21), "windows has 21 entries"},
		"a long text":             {strings.Repeat("x", 5000), "..."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := offhours.Parse(tt.annotation, at(t, "2026-11-30T12:00:00Z"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 500 {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(nights)
	f.Add("TZ=0")
	f.Fuzz(func(t *testing.T, annotation string) {
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		s, err := offhours.Parse(annotation, now)
		if err != nil {
			return
		}
		if p, held := s.Now(now); held && !now.Before(p.Wake) {
			t.Errorf("held until %v", p)
		}
		if n := s.Next(now); !n.Start.After(now) || n.End.Before(n.Wake) {
			t.Errorf("next %v", n)
		}
	})
}

func TestALimitComesBack(t *testing.T) {
	day, night := at(t, "2026-11-30T12:00:00Z"), at(t, "2026-11-30T23:00:00Z")
	own := func(q string) karpv1.Limits {
		return karpv1.Limits{"cpu": resource.MustParse("100"), "nodes": resource.MustParse(q)}
	}
	for name, tt := range map[string]struct {
		limits karpv1.Limits
		during func(*karpv1.NodePool) // what a user does in the night
		want   string                 // limits.nodes in the next day
	}{
		"no limits":                 {nil, nil, ""},
		"limits on other resources": {karpv1.Limits{"cpu": resource.MustParse("100")}, nil, ""},
		"a limit on nodes":          {own("7"), nil, "7"},
		"a limit of 0":              {own("0"), nil, "0"},
		"a user raises it":          {own("7"), func(p *karpv1.NodePool) { p.Spec.Limits["nodes"] = resource.MustParse("9") }, "9"},
		"a user removes all limits": {own("7"), func(p *karpv1.NodePool) { p.Spec.Limits = nil }, ""},
		"a user removes the schedule": {own("7"), func(p *karpv1.NodePool) {
			delete(p.Annotations, offhours.Annotation)
			apply(p, at(t, "2026-11-30T23:05:00Z"))
			if p.StatusConditions().Get(offhours.Condition) != nil {
				t.Error("the condition stays")
			}
		}, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{offhours.Annotation: nights}}}
			pool.Spec.Limits = tt.limits
			apply(pool, day)
			if c := pool.StatusConditions().Get(offhours.Condition); !c.IsFalse() || !strings.Contains(c.Message, "from Mon 2026-11-30 19:00 CET") {
				t.Errorf("by day: %+v", c)
			}
			apply(pool, night)
			if again, _ := offhours.Decide(pool, night).Apply(pool); again {
				t.Error("it is held twice")
			}
			zero, limited := pool.Spec.Limits["nodes"]
			if c := pool.StatusConditions().Get(offhours.Condition); !limited || !zero.IsZero() || !c.IsTrue() ||
				offhours.Held(pool) != "Off-hours until Tue 2026-12-01 07:00 CET: no nodes before Tue 2026-12-01 06:50 CET" {
				t.Errorf("by night: limits %v, condition %+v", pool.Spec.Limits, c)
			}
			if tt.during != nil {
				tt.during(pool)
				apply(pool, night.Add(10*time.Minute))
				_, scheduled := pool.Annotations[offhours.Annotation]
				if zero, limited := pool.Spec.Limits["nodes"]; scheduled && (!limited || !zero.IsZero()) {
					t.Errorf("a user's change ends the night: limits %v", pool.Spec.Limits)
				}
			}
			apply(pool, day.Add(24*time.Hour))
			nodes, limited := pool.Spec.Limits["nodes"]
			if limited != (tt.want != "") || limited && nodes.String() != tt.want {
				t.Errorf("the next day: %v, want %q", pool.Spec.Limits, tt.want)
			}
			if _, left := pool.Annotations[offhours.AnnotationLimit]; left {
				t.Error("the annotation stays")
			}
		})
	}
}

// A user changes the limit at the last moment, and no reconcile has seen the change: the user's limit stays.
func TestALimitThatIsSetAsThePeriodEndsStays(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{offhours.Annotation: nights}}}
	pool.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("7")}
	apply(pool, at(t, "2026-11-30T23:00:00Z"))
	pool.Spec.Limits["nodes"] = resource.MustParse("9")
	apply(pool, at(t, "2026-12-01T06:00:00Z"))
	if limit := pool.Spec.Limits["nodes"]; limit.String() != "9" {
		t.Errorf("limits %v", pool.Spec.Limits)
	}
}

func TestAScheduleThatCannotBeReadHoldsNothing(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{offhours.Annotation: nights}}}
	night := at(t, "2026-11-30T23:00:00Z")
	apply(pool, night)
	pool.Annotations[offhours.Annotation] = "0 19 * * *"
	apply(pool, night)
	if _, limited := pool.Spec.Limits["nodes"]; limited {
		t.Errorf("limits %v", pool.Spec.Limits)
	}
	if c := pool.StatusConditions().Get(offhours.Condition); !c.IsUnknown() || c.Reason != offhours.ReasonInvalid {
		t.Errorf("condition %+v", c)
	}
}

func apply(pool *karpv1.NodePool, now time.Time) { offhours.Decide(pool, now).Apply(pool) }
