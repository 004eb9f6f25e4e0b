package linodesim_test

import (
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/operation"
)

var parameters = regexp.MustCompile(`\{\w+\}`)

// Every operation has a handler: for a request about an object that does not exist,
// it is an answer of the API.
func TestEveryOperationAnswers(t *testing.T) {
	all, err := operation.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all {
		for _, body := range []string{"", "{}"} {
			synctest.Test(t, func(t *testing.T) {
				sim, c := newSim(t, linodesim.Config{})
				got := c.do(op.Method, "/v4beta"+parameters.ReplaceAllString(op.Route, "7"), body)
				if got.status != 200 && got.status != 400 && got.status != 404 {
					t.Errorf("%s %s: answer %d: %s", op.Method, op.Route, got.status, got.raw)
				}
				if len(sim.Unknown()) != 0 {
					t.Errorf("%s: the description has it, and the simulator does not know it", op.ID)
				}
			})
		}
	}
}
