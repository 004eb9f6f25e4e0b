package demo

import (
	"strings"
	"testing"
	"time"
)

// Instance mode has no LKE pools to show.
func TestTableShowsWhatTheModeMakes(t *testing.T) {
	for name, c := range map[string]struct {
		plain, machines bool
		words           []string
	}{
		"pools":    {false, false, []string{"LKE pools (nodes wanted)", " 1 (2), 3 instances "}},
		"Linodes":  {true, false, []string{" Linodes ", " 3 ", "backends up", " 2/3 ", "volumes attached", " 1/1 "}},
		"Machines": {false, true, []string{" Machines ", " 4 ", " Linodes ", " 3 "}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			(&table{out: &out, start: time.Now(), plain: c.plain, machines: c.machines}).show(row{pools: 1, count: 2, instances: 3,
				machines: 4, beside: beside{up: 2, backends: 3, attached: 1, volumes: 1}})
			for _, words := range c.words {
				if !strings.Contains(out.String(), words) {
					t.Errorf("%q is missing:\n%s", words, &out)
				}
			}
			if (c.plain || c.machines) == strings.Contains(out.String(), "pools") || c.plain != strings.Contains(out.String(), "backends") {
				t.Errorf("columns of another mode:\n%s", &out)
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
		{"one instance too many", func(r *Result) { r.surplus = 1 }, "minus NodeClaims: 1,"},
		{"a NodeClaim without an instance", func(r *Result) { r.surplus = -1 }, "minus NodeClaims: -1,"},
		{"something left", func(r *Result) { r.Leaked = 2 }, "2 instances, pools, Machines, NodeBalancers or volumes"},
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

func TestResultOfClusterAPIMode(t *testing.T) {
	good := Result{of: "mode=clusterapi", Pods: 5, Wanted: 5, nodes: 2, nodeClaims: 2, apiCalls: 7, elapsed: 48 * time.Second,
		ofMachines: true, machines: 2}
	if want := "demo: ok mode=clusterapi pods=5/5 machines=2 surplus=0 leaked=0 api_calls=7 elapsed=48s"; good.String() != want {
		t.Errorf("line is %q, want %q", good, want)
	}
	good.machines = 3
	if problems := strings.Join(good.problems(), "; "); problems != "3 Machines for 2 NodeClaims" {
		t.Errorf("problems are %q", problems)
	}
}

func TestResultOfInstanceMode(t *testing.T) {
	all := beside{up: 3, backends: 3, attached: 1, volumes: 1, balancers: 1}
	for name, c := range map[string]struct {
		shown shown
		want  string
	}{
		"good": {shown{all, 1}, "demo: ok mode=instance tier=none pods=5/5 nodes=2 nodeclaims=2 surplus=0 leaked=0 " +
			"backends=3/3 volumes=ok reboots=1 api_calls=31 elapsed=48s"},
		"a backend is down":  {shown{beside{up: 2, backends: 3, attached: 1, volumes: 1, balancers: 1}, 1}, "backends=2/3 volumes=ok reboots=1"},
		"a volume elsewhere": {shown{beside{up: 3, backends: 3, volumes: 1, balancers: 1}, 1}, "backends=3/3 volumes=0/1 reboots=1"},
		"no reboot":          {shown{all, 0}, "backends=3/3 volumes=ok reboots=0"},
		"nothing":            {shown{}, "backends=0/0 volumes=0/0 reboots=0"},
	} {
		r := Result{of: "mode=instance tier=none", Pods: 5, Wanted: 5, nodes: 2, nodeClaims: 2, apiCalls: 31, elapsed: 48 * time.Second,
			beside: &c.shown}
		if !strings.Contains(r.String(), c.want) || strings.HasPrefix(r.String(), "demo: ok ") != (name == "good") {
			t.Errorf("%s: line is %q, want %q in it", name, r, c.want)
		}
	}
}
