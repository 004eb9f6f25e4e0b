package grafana_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/karpenter-linode/karpenter-linode/tools/grafana"
)

// idle are panels of what does not happen in the recorded hour.
var idle = []string{
	"Waiting for the limits",
}

// The hour that docs/images/dashboard.png shows has data for every query of the present dashboard, except for queries of events that did
// not happen in that hour.
func TestEachPanelHasDataInTheRecordedHour(t *testing.T) {
	recorded := readHour(t)
	var then grafana.Dashboard
	if err := json.Unmarshal(recorded.Dashboard, &then); err != nil {
		t.Fatal(err)
	}
	now, err := grafana.Load("../../charts/karpenter/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, panel := range then.Panels {
		for _, target := range panel.Targets {
			asked[target.Expr] = true
		}
	}
	for _, panel := range now.Panels {
		for _, target := range panel.Targets {
			if !asked[target.Expr] {
				t.Errorf("panel %s: the recorded hour has no answer to %s: make pictures records another", panel.Title, target.Expr)
			}
		}
	}
	if length := time.Duration(recorded.To-recorded.From) * time.Millisecond; length < 50*time.Minute {
		t.Errorf("it is %s long", length)
	}
	empty, err := recorded.Empty()
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range empty {
		if !slices.Contains(idle, title) {
			t.Errorf("panel %s has no data", title)
		}
	}
	for _, title := range idle {
		if !slices.Contains(empty, title) {
			t.Errorf("panel %s has data: it is not idle", title)
		}
	}
}

// readHour reads what tools/make/pictures.sh recorded.
func readHour(t *testing.T) *grafana.Answered {
	t.Helper()
	file, err := os.Open("testdata/hour.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	// Of the answers only how many series there are is looked at.
	var recorded struct {
		From, To  int64
		Dashboard json.RawMessage
		Answers   map[int]map[string][]json.RawMessage
	}
	if err := json.NewDecoder(text).Decode(&recorded); err != nil {
		t.Fatal(err)
	}
	a := &grafana.Answered{From: recorded.From, To: recorded.To, Dashboard: recorded.Dashboard, Answers: map[int]map[string]promql.Matrix{}}
	for panel, answers := range recorded.Answers {
		a.Answers[panel] = map[string]promql.Matrix{}
		for query, series := range answers {
			a.Answers[panel][query] = make(promql.Matrix, len(series))
		}
	}
	return a
}
