package linodesim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A report becomes the delays and choices that it has; the rest is as in Realistic.
func TestMeasured(t *testing.T) {
	p, b, err := linodesim.Measured(strings.NewReader(`{"schema":"verify/1","cluster":{"tier":"enterprise"},"delays":{
		"linode_listed":[{"at_least_ms":2000,"at_most_ms":4000},{"at_least_ms":6000,"at_most_ms":6000}],
		"node_entry":[{"at_least_ms":1000,"at_most_ms":1000}],
		"pool_read_lag":[{"at_least_ms":700,"at_most_ms":900}]},
		"switches":{"last_node":"refused","lost_linode":"left","zero_count":"accepted"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := linodesim.Realistic()
	want.Name, want.StaleReads = "measured", 700*time.Millisecond
	want.InstanceID = linodesim.Span{Min: 3 * time.Second, Max: 6 * time.Second}
	want.NodeListed = linodesim.Span{Min: time.Second, Max: time.Second}
	if p != want {
		t.Errorf("profile %+v, want %+v", p, want)
	}
	if choices := (linodesim.Behaviour{LastNode: linodesim.RefuseLastDelete, LostLinode: linodesim.LeaveHole,
		AllowZeroCount: true}); b != choices {
		t.Errorf("behaviour %+v, want %+v", b, choices)
	}
}

func TestProfileFrom(t *testing.T) {
	if p, b, err := linodesim.ProfileFrom("stale"); err != nil || p != linodesim.Stale() || b != (linodesim.Behaviour{}) {
		t.Errorf("%+v, %+v, %v", p, b, err)
	}
	for _, c := range []struct{ name, text, words string }{
		{"schema", `{"schema":"verify/9","delays":{"gone":[]}}`, `the report's schema is "verify/9"; this program reads "verify/1"`},
		{"no JSON", `hello`, "not JSON of schema verify/1"},
		{"no delays", `{"schema":"verify/1"}`, "has no delays"},
		{"bounds", `{"schema":"verify/1","delays":{"gone":[{"at_least_ms":5,"at_most_ms":4}]}}`, "delays.gone[0] is 5 to 4 ms"},
		{"switch", `{"schema":"verify/1","delays":{"gone":[{"at_least_ms":1,"at_most_ms":4}]},"switches":{"last_node":"explodes"}}`,
			`switches.last_node is "explodes"`},
		{"label", `{"schema":"verify/1","delays":{"gone":[{"at_least_ms":1,"at_most_ms":4}]},"switches":{"label_form":"other: same"}}`,
			"must contain <12 hex digits>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := linodesim.ProfileFrom(path); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
		})
	}
	if _, _, err := linodesim.ProfileFrom("warp"); err == nil || !strings.Contains(err.Error(), "use one of fast, realistic") {
		t.Errorf("error %v", err)
	}
}
