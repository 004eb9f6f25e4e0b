package docs_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

var (
	neighbourRow = regexp.MustCompile(`(?m)^\| (\w+): .*\| (\d+) \| (\d+) \|$`)
	operationRow = regexp.MustCompile("(?m)^\\| `(GET|POST|PUT|DELETE) (/\\S+)` \\| ([\\w, ]+) \\| (yes|no) \\|$")
)

// TestSimulatorServesWhatNeighboursCall holds the tables of docs/simulator-clients.md against the description, from which the
// simulator is made.
func TestSimulatorServesWhatNeighboursCall(t *testing.T) {
	page := read(t, "docs/simulator-clients.md")
	served, calls := map[string]int{}, map[string]int{}
	for _, row := range operationRow.FindAllStringSubmatch(page, -1) {
		there := slices.ContainsFunc(api.Operations(), func(o api.Operation) bool { return o.Method == row[1] && o.Route == row[2] })
		if there != (row[4] == "yes") {
			t.Errorf("%s %s: the page has %s, the description has it: %v", row[1], row[2], row[4], there)
		}
		for _, client := range strings.Split(row[3], ", ") {
			calls[client]++
			if there {
				served[client]++
			}
		}
	}
	least := map[string]int{"alpha": 16, "CCM": 31, "CSI": 12, "CAPL": 49}
	for _, row := range neighbourRow.FindAllStringSubmatch(page, -1) {
		if row[2] != strconv.Itoa(served[row[1]]) || row[3] != strconv.Itoa(calls[row[1]]) {
			t.Errorf("%s: the page counts %s of %s, the rows are %d of %d", row[1], row[2], row[3], served[row[1]], calls[row[1]])
		}
		if served[row[1]] < least[row[1]] {
			t.Errorf("%s: %d operations are served, fewer than %d", row[1], served[row[1]], least[row[1]])
		}
		delete(least, row[1])
	}
	if len(least) > 0 {
		t.Errorf("no row for %v", least)
	}
}
