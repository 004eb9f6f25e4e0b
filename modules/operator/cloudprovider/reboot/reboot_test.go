package reboot_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider/reboot"
)

// scripted is an API with one Linode, whose status becomes rebooting when a reboot has its effect.
type scripted struct {
	status  api.InstanceStatus
	missing error // of reading it
	refused error // of rebooting it
	effect  bool  // the refused reboot happens all the same
	reboots int
}

func (s *scripted) GetInstance(context.Context, int) (*api.Instance, error) {
	return &api.Instance{Status: s.status}, s.missing
}

func (s *scripted) RebootInstance(context.Context, int, api.InstanceBoot) error {
	s.reboots++
	if s.refused == nil || s.effect {
		s.status = "rebooting"
	}
	return s.refused
}

func TestAnOperationRebootsOnce(t *testing.T) {
	linodes := &scripted{status: "running"}
	rebooter := reboot.New(linodes)
	for range 3 {
		if err := rebooter.Reboot(t.Context(), 5, "first"); err != nil {
			t.Fatal(err)
		}
		linodes.status = "running" // it has booted; core repeats the call because it could not store that it was accepted
	}
	if linodes.reboots != 1 {
		t.Errorf("%d reboots for one operation", linodes.reboots)
	}
	if err := rebooter.Reboot(t.Context(), 5, "second"); err != nil || linodes.reboots != 2 {
		t.Errorf("the next operation: %v, %d reboots", err, linodes.reboots)
	}
}

func TestAProcessStartedAgainDoesNotRebootALinodeThatBoots(t *testing.T) {
	linodes := &scripted{status: "running"}
	for range 2 {
		if err := reboot.New(linodes).Reboot(t.Context(), 5, "first"); err != nil {
			t.Fatal(err)
		}
	}
	if linodes.reboots != 1 {
		t.Errorf("%d reboots", linodes.reboots)
	}
}

func TestALostAnswerIsLookedUp(t *testing.T) {
	lost := &linode.Error{Kind: linode.KindAmbiguous, Method: "POST", Err: errors.New("connection reset")}
	for name, happened := range map[string]bool{"the reboot happened": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			linodes := &scripted{status: "running", refused: lost, effect: happened}
			rebooter := reboot.New(linodes)
			if err := rebooter.Reboot(t.Context(), 5, "first"); err == nil || core.IsNodeRebootFailedError(err) {
				t.Errorf("the lost answer: %v", err)
			}
			linodes.refused = nil
			if err := rebooter.Reboot(t.Context(), 5, "first"); err != nil {
				t.Error(err)
			}
			if want := map[bool]int{true: 1, false: 2}[happened]; linodes.reboots != want {
				t.Errorf("%d requests, want %d", linodes.reboots, want)
			}
		})
	}
}

func refusing(kind linode.Kind) scripted {
	return scripted{status: "running", refused: &linode.Error{Kind: kind, Method: "POST"}}
}

func TestErrorsAreCores(t *testing.T) {
	for name, c := range map[string]struct {
		linodes        scripted
		failed, passed bool
		text           string
	}{
		"a missing scope":         {linodes: refusing(linode.KindForbidden), failed: true, text: "linodes:read_write"},
		"a refused token":         {linodes: scripted{missing: &linode.Error{Kind: linode.KindUnauthorized}}, failed: true, text: "scope"},
		"a request that is wrong": {linodes: refusing(linode.KindInvalid), failed: true},
		"a Linode that is off":    {linodes: scripted{status: "offline"}, failed: true, text: "offline"},
		"one 404":                 {linodes: scripted{missing: &linode.Error{Kind: linode.KindNotFound}}},
		"a job on the Linode":     {linodes: refusing(linode.KindBusy)},
		"an API that is down":     {linodes: scripted{missing: &linode.Error{Kind: linode.KindUnavailable}}},
		"an answer of no shape":   {linodes: refusing(linode.KindMalformed), passed: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := reboot.New(&c.linodes).Reboot(t.Context(), 5, "first")
			if core.IsNodeRebootFailedError(err) != c.failed || core.IsNodeClaimNotFoundError(err) || (err == nil) != c.passed {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q lacks %q", err, c.text)
			}
		})
	}
}
