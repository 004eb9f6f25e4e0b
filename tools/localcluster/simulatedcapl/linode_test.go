package simulatedcapl

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

func simulated(t *testing.T) (*linodesim.Sim, account) {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, problem := range append(sim.Violations(), sim.Unknown()...) {
			t.Errorf("simulator: %s", problem)
		}
	})
	return sim, account{linodehttp.New(server.URL, linodesim.DefaultToken, "test")}
}

// A pass whose patch was lost makes the Linode a second time, and finds it by its label.
func TestALinodeIsMadeOnceForALabel(t *testing.T) {
	_, linode := simulated(t)
	ctx, spec := t.Context(), linodeSpec{Region: "us-ord", Type: "g6-standard-2"}
	made, err := linode.create(ctx, "workers-a", spec, []string{"cluster"}, []byte("#cloud-config\n"))
	if err != nil || made.Status == api.InstanceStatusRunning || !made.HasUserData || made.Label != "workers-a" {
		t.Fatalf("made %+v, %v", made, err)
	}
	again, err := linode.create(ctx, "workers-a", spec, []string{"cluster"}, []byte("#cloud-config\n"))
	if err != nil || again.ID != made.ID {
		t.Fatalf("the second one is %d, want %d: %v", again.ID, made.ID, err)
	}
	if err := errors.Join(linode.helpNetwork(ctx, made.ID), linode.boot(ctx, made.ID), linode.boot(ctx, made.ID)); err != nil {
		t.Fatal(err)
	}
	if found, err := linode.get(ctx, made.ID); err != nil || found.Status != api.InstanceStatusRunning || len(found.IPv4) != 2 {
		t.Errorf("it is %s with %v, %v", found.Status, found.IPv4, err)
	}
	if err := errors.Join(linode.remove(ctx, made.ID), linode.remove(ctx, made.ID)); err != nil {
		t.Error(err)
	}
}

func TestARefusalIsInLinodegosWordsAndFinal(t *testing.T) {
	sim, linode := simulated(t)
	sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2"})
	_, err := linode.create(t.Context(), "a", linodeSpec{Region: "us-ord", Type: "g6-standard-2"}, nil, nil)
	if again, _ := retryable(err); err == nil || again || !strings.HasPrefix(worded(err).Error(), "[400] ") {
		t.Errorf("the refusal is %v, again: %v", worded(err), again)
	}
	for status, want := range map[int][2]bool{
		400: {false, false}, 404: {false, false}, 408: {true, false}, 429: {true, true}, 503: {true, false},
	} {
		if again, limited := retryable(&linodehttp.Error{Status: status}); again != want[0] || limited != want[1] {
			t.Errorf("%d: again %v, limited %v", status, again, limited)
		}
	}
	if again, _ := retryable(errors.New("no answer")); !again {
		t.Error("a request without answer is not sent again")
	}
	body := `{"errors": [{"field": "type", "reason": "Sold out."}, {"reason": "b"}]}`
	if text := worded(&linodehttp.Error{Status: 400, Body: body}).Error(); text != "[400] [type] Sold out.; b" {
		t.Error(text)
	}
}
