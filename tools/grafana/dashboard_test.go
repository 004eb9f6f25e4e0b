package grafana_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/karpenter-linode/karpenter-linode/tools/grafana"
)

const board = `{"title": "a board", "templating": {"list": [{"name": "source", "type": "datasource"}, {"name": "nodepool", "type": "query", "allValue": ".*"}]},
"panels": [{"id": 1, "type": "row"}, {"id": 2, "title": "made", "targets": [
  {"refId": "A", "expr": "increase(made_total{nodepool=~\"$nodepool\"}[$__rate_interval])"}, {"refId": "B", "expr": "price", "instant": true}]}]}`

// recorder records the queries and answers each expression with one series.
type recorder struct {
	questions []string
	err       error
}

func (a *recorder) Range(_ context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	a.questions = append(a.questions, expression+" over "+end.Sub(start).String()+" by "+step.String())
	return promql.Matrix{{Metric: labels.FromStrings("of", "A"), Floats: []promql.FPoint{{T: end.UnixMilli(), F: 2}}}}, a.err
}

func (a *recorder) Query(_ context.Context, expression string) (promql.Vector, error) {
	a.questions = append(a.questions, expression+" now")
	return promql.Vector{{Metric: labels.FromStrings("of", "B"), T: 1000, F: 2}, {Metric: labels.FromStrings("of", "A"), T: 1000, F: 1}}, a.err
}

func TestAPanelsQueriesAreAskedWithoutVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board.json")
	if err := os.WriteFile(file, []byte(board), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := grafana.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	to := time.Unix(1_000_000, 0)
	for window, want := range map[time.Duration][]string{
		time.Minute:   {`increase(made_total{nodepool=~".*"}[1m0s]) over 1m0s by 1s`, `price now`},
		8 * time.Hour: {`increase(made_total{nodepool=~".*"}[2m1s]) over 8h0m0s by 2m0s`, `price now`},
	} {
		p := &recorder{}
		answered, err := d.Query(t.Context(), p, to.Add(-window), to)
		if err != nil || !slices.Equal(p.questions, want) {
			t.Errorf("queried %q, want %q, %v", p.questions, want, err)
		}
		text, err := json.Marshal(answered)
		if err != nil || !strings.Contains(string(text),
			`"2":{"A":[{"metric":{"of":"A"},"values":[[1000000,"2"]]}],"B":[{"metric":{"of":"B"},"values":[[1,"2"]]},{"metric":{"of":"A"},"values":[[1,"1"]]}]}`) || !strings.Contains(string(text), `"title":"a board"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	if _, err := d.Query(t.Context(), &recorder{err: errors.New("no such thing")}, to, to); err == nil ||
		err.Error() != "panel made, query A: no such thing" {
		t.Errorf("a query that fails: %v", err)
	}
}
