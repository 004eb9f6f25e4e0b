package fault

import (
	"fmt"
	"net/http"
	"testing"
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
		{"route", Rule{Route: "/b"}, "0000011111"},
		{"method and route", Rule{Method: "GET", Route: "/b"}, "0000001010"},
		{"condition", Rule{Match: func(r *http.Request) bool { return r.URL.Path == "/7" }}, "0000000100"},
		{"by chance", Rule{Probability: 0.5}, "0101000010"},
		{"by chance, at most", Rule{Probability: 0.5, Times: 2}, "0101000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSet(1)
			id := s.Add(c.rule)
			got, hits := "", 0
			for i := range 10 {
				method, route := []string{"GET", "PUT"}[i%2], []string{"/a", "/b"}[i/5]
				r, _ := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://x/%d", i), nil)
				_, by, hit := s.Decide(route, r)
				if hit && by != id {
					t.Errorf("request %d was hit by rule %d", i, by)
				}
				if hit {
					hits++
				}
				got += map[bool]string{true: "1", false: "0"}[hit]
			}
			if got != c.want || s.Hits(id) != hits {
				t.Errorf("hit %s (%d, counted %d), want %s", got, hits, s.Hits(id), c.want)
			}
		})
	}
}

func TestTheFirstRuleThatHitsDecides(t *testing.T) {
	s := NewSet(1)
	first := s.Add(Rule{Nth: 2, Status: 1})
	second := s.Add(Rule{Status: 2})
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/", nil)
	var got []ID
	for range 3 {
		_, id, _ := s.Decide("/", r)
		got = append(got, id)
	}
	if fmt.Sprint(got) != fmt.Sprint([]ID{second, first, second}) {
		t.Errorf("hit by %v", got)
	}
	s.Remove(second)
	if _, _, hit := s.Decide("/", r); hit || s.Hits(second) != 0 {
		t.Error("a removed rule hits")
	}
	s.Clear()
	if s.Hits(first) != 0 {
		t.Error("a cleared rule counts")
	}
}
