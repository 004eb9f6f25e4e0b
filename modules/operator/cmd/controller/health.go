package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// apiHealth makes the process not ready while the Linode API refuses its token.
type apiHealth struct {
	refused atomic.Bool
	// changed receives an event each time that the API begins to refuse the token or to accept it again, for the conditions of NodePools.
	// While an event waits in the channel, further events are dropped, because the reader of the event reads the newest state.
	changed chan event.GenericEvent
}

func newAPIHealth() *apiHealth { return &apiHealth{changed: make(chan event.GenericEvent, 1)} }

// observe records whether a call proves that the API refuses or accepts the token. A 403 proves neither: one scope is missing, and other
// calls still work. A successful read of plans or regions proves nothing, because these routes are public.
func (h *apiHealth) observe(call linode.Call) {
	public := strings.HasPrefix(call.Route, "/linode/types") || strings.HasPrefix(call.Route, "/regions")
	switch {
	case call.Status == http.StatusUnauthorized:
		h.set(true)
	case call.Status >= 200 && call.Status < 300 && !public:
		h.set(false)
	}
}

func (h *apiHealth) set(refused bool) {
	if h.refused.Swap(refused) == refused {
		return
	}
	select {
	case h.changed <- event.GenericEvent{Object: &karpv1.NodePool{}}:
	default:
	}
}

// check is a readiness check of controller-runtime.
func (h *apiHealth) check(*http.Request) error {
	if h.refused.Load() {
		return errors.New(launches.TokenRefused) //nolint:staticcheck // it is a sentence in events, too
	}
	return nil
}
