package linodesim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhichRequestsAreHit(t *testing.T) {
	for _, c := range []struct {
		name string
		rule Rule
		want string // of ten requests, 1 for each that is hit
	}{
		{"all", Rule{}, "1111111111"},
		{"the third", Rule{Nth: 3}, "0010000000"},
		{"two at most", Rule{Times: 2}, "1100000000"},
		{"method", Rule{Method: "PUT"}, "0101010101"},
		{"the second of a method", Rule{Method: "PUT", Nth: 2}, "0001000000"},
		{"lists", Rule{Kind: Lists}, "1000000000"},
		{"other reads", Rule{Kind: Reads}, "0010101010"},
		{"writes", Rule{Kind: Writes}, "0101010101"},
		{"route", Rule{Route: "/b"}, "0000011111"},
		{"method and route", Rule{Method: "GET", Route: "/b"}, "0000001010"},
		{"condition", Rule{Match: func(r *http.Request) bool { return r.URL.Path == "/7" }}, "0000000100"},
		{"by chance", Rule{Probability: 0.5}, "0101000010"},
		{"by chance, at most", Rule{Probability: 0.5, Times: 2}, "0101000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRuleSet(1)
			id := s.Add(c.rule)
			got, hits := "", 0
			for i := range 10 {
				method, route := []string{"GET", "PUT"}[i%2], []string{"/a", "/b"}[i/5]
				r, _ := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://x/%d", i), nil)
				d := s.Decide(ruled{Request: r, Route: route, List: i < 2}, time.Time{})
				if d.Hit && d.ID != id {
					t.Errorf("request %d was hit by rule %d", i, d.ID)
				}
				if d.Hit {
					hits++
				}
				got += map[bool]string{true: "1", false: "0"}[d.Hit]
			}
			if got != c.want || s.Hits(id) != hits {
				t.Errorf("hit %s (%d, counted %d), want %s", got, hits, s.Hits(id), c.want)
			}
		})
	}
}

func TestTheFirstRuleThatHitsDecides(t *testing.T) {
	s := newRuleSet(1)
	first := s.Add(Rule{Nth: 2, Answer: Answer{Status: 1}})
	second := s.Add(Rule{Answer: Answer{Status: 2}})
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/", nil)
	var got []RuleID
	for range 3 {
		got = append(got, s.Decide(ruled{Request: r, Route: "/"}, time.Time{}).ID)
	}
	if fmt.Sprint(got) != fmt.Sprint([]RuleID{second, first, second}) {
		t.Errorf("hit by %v", got)
	}
	s.Remove(second)
	if s.Decide(ruled{Request: r, Route: "/"}, time.Time{}).Hit || s.Hits(second) != 0 {
		t.Error("a removed rule hits")
	}
	s.Clear()
	if s.Hits(first) != 0 {
		t.Error("a cleared rule counts")
	}
}

// A profile's rule for every request must not hide a test's rule.
func TestAddedRulesAreAskedBeforeTheFirstOnes(t *testing.T) {
	s := newRuleSet(1, Rule{Answer: Answer{Status: 1}})
	added := s.Add(Rule{Answer: Answer{Status: 2}, Times: 1})
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/", nil)
	for n, want := range []int{2, 1} {
		if d := s.Decide(ruled{Request: r, Route: "/"}, time.Time{}); d.Rule.Status != want {
			t.Errorf("request %d was hit by %v, want status %d", n, d, want)
		}
	}
	if s.Hits(added) != 1 || s.Hits(1) != 1 {
		t.Errorf("hits %d and %d", s.Hits(added), s.Hits(1))
	}
	s.Clear()
	if s.Decide(ruled{Request: r, Route: "/"}, time.Time{}).Hit {
		t.Error("a cleared rule hits")
	}
}

func TestDrawnDurationsRepeatWithTheSeed(t *testing.T) {
	const limit = 4 * time.Second
	draw := func() (out []time.Duration) {
		s := newRuleSet(7)
		s.Add(Rule{View: View{Stale: limit}, UpTo: true})
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/", nil)
		for range 100 {
			out = append(out, s.Decide(ruled{Request: r}, time.Time{}).Rule.Stale)
		}
		return out
	}
	first := draw()
	if low, high := slices.Min(first), slices.Max(first); low < 0 || low > limit/10 || high > limit || high < limit*9/10 {
		t.Errorf("drawn from %v to %v, want the range up to %v", low, high, limit)
	}
	if !slices.Equal(first, draw()) {
		t.Error("the same seed drew other durations")
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for want, rule := range map[string]Rule{
		"":            {Kind: Lists, Answer: Answer{Status: 404}, Probability: 0.5, View: View{Stale: time.Minute, Missing: 1, Shift: -1}},
		"kind":        {Kind: "list"},
		"status":      {Answer: Answer{Status: 42}},
		"probability": {Probability: 2},
		"missing":     {View: View{Missing: -1}},
		"stale":       {View: View{Stale: -time.Second}},
	} {
		err := rule.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to name %q", rule, err, want)
		}
	}
}
