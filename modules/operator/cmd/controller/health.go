package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// apiHealth makes the process not ready while the Linode API refuses its token.
type apiHealth struct{ refused atomic.Bool }

// observe is called for every call. A 403 means that one scope is missing, and other calls still work. A success proves
// the token only where one is needed: plans and regions are public.
func (h *apiHealth) observe(call linode.Call) {
	public := strings.HasPrefix(call.Route, "/linode/types") || strings.HasPrefix(call.Route, "/regions")
	switch {
	case call.Status == http.StatusUnauthorized:
		h.refused.Store(true)
	case call.Status >= 200 && call.Status < 300 && !public:
		h.refused.Store(false)
	}
}

// check is a readiness check of controller-runtime.
func (h *apiHealth) check(*http.Request) error {
	if h.refused.Load() {
		return errors.New("the Linode API refuses the token (401): set LINODE_TOKEN to a valid one")
	}
	return nil
}
