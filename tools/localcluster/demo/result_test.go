package demo

import (
	"strings"
	"testing"
	"time"
)

// Instance mode has no LKE pools to show.
func TestTableShowsWhatTheModeMakes(t *testing.T) {
	for name, c := range map[string]struct {
		plain bool
		words []string
	}{
		"pools":   {false, []string{"LKE pools (nodes wanted)", " 1 (2), 3 instances "}},
		"Linodes": {true, []string{" Linodes ", " 3 "}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			(&table{out: &out, start: time.Now(), plain: c.plain}).show(row{pools: 1, count: 2, instances: 3})
			for _, words := range c.words {
				if !strings.Contains(out.String(), words) {
					t.Errorf("%q is missing:\n%s", words, &out)
				}
			}
			if c.plain && strings.Contains(out.String(), "pools") {
				t.Errorf("pools of instance mode:\n%s", &out)
			}
		})
	}
}

func TestResultIsOKOnlyWhenAllOfItIs(t *testing.T) {
	good := Result{of: "tier=standard", Pods: 5, Wanted: 5, nodes: 2, nodeClaims: 2, apiCalls: 31, elapsed: 48 * time.Second}
	tests := []struct {
		name   string
		change func(*Result)
		want   string
	}{
		{"good", func(*Result) {}, ""},
		{"a pod without a node", func(r *Result) { r.Pods = 4 }, "4 of 5 pods"},
		{"no node", func(r *Result) { r.nodes, r.nodeClaims = 0, 0 }, "no node"},
		{"a NodeClaim without a node", func(r *Result) { r.nodeClaims = 3 }, "2 nodes for 3"},
		{"one instance too many", func(r *Result) { r.surplus = 1 }, "1 instances beyond"},
		{"a NodeClaim without an instance", func(r *Result) { r.surplus = -1 }, "-1 instances"},
		{"something left", func(r *Result) { r.Leaked = 2 }, "2 instances or pools"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := good
			test.change(&r)
			problems := strings.Join(r.problems(), "; ")
			if test.want == "" && problems != "" || !strings.Contains(problems, test.want) {
				t.Errorf("problems are %q, want %q", problems, test.want)
			}
			if ok := strings.HasPrefix(r.String(), "demo: ok "); ok != (test.want == "") {
				t.Errorf("the line says %q", r)
			}
		})
	}
	const want = "demo: ok tier=standard pods=5/5 nodes=2 nodeclaims=2 surplus=0 leaked=0 api_calls=31 elapsed=48s"
	if good.String() != want {
		t.Errorf("line is %q, want %q", good, want)
	}
}
