package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// apiHealth makes the process not ready while the Linode API refuses its token.
type apiHealth struct {
	refused   atomic.Bool
	onRefused func() // called when the API begins to refuse the token; set before the controllers start, may be nil
}

// observe is called for every call. A 403 means that one scope is missing, and other calls still work. A success proves
// the token only where one is needed: plans and regions are public.
func (h *apiHealth) observe(call linode.Call) {
	public := strings.HasPrefix(call.Route, "/linode/types") || strings.HasPrefix(call.Route, "/regions")
	switch {
	case call.Status == http.StatusUnauthorized:
		if !h.refused.Swap(true) && h.onRefused != nil {
			h.onRefused()
		}
	case call.Status >= 200 && call.Status < 300 && !public:
		h.refused.Store(false)
	}
}

// check is a readiness check of controller-runtime.
func (h *apiHealth) check(*http.Request) error {
	if h.refused.Load() {
		return errors.New(tokenRefused)
	}
	return nil
}

const (
	tokenRefused = "the Linode API refuses the token (401): set LINODE_TOKEN to a valid one"
	// EventTokenRefused is the reason of the event on each NodePool when the Linode API begins to refuse the token: the operator's pod
	// is not ready then, and a user looks at NodePools.
	EventTokenRefused = "TokenRefused"
)

// announceRefusal returns a function that publishes EventTokenRefused on all NodePools of this provider. It does not wait for that.
func announceRefusal(ctx context.Context, kube client.Reader, recorder events.Recorder) func() {
	return func() {
		go func() {
			nodePools := &karpv1.NodePoolList{}
			if err := kube.List(ctx, nodePools); err != nil {
				return // the pod is not ready all the same
			}
			for i := range nodePools.Items {
				nodePool := &nodePools.Items[i]
				if ref := nodePool.Spec.Template.Spec.NodeClassRef; nodeclaim.Ours(ref) {
					recorder.Publish(events.Event{
						InvolvedObject: nodePool, Type: corev1.EventTypeWarning, Reason: EventTokenRefused,
						Message:      strings.ToUpper(tokenRefused[:1]) + tokenRefused[1:] + "; no node is bought or removed meanwhile",
						DedupeValues: []string{nodePool.Name},
					})
				}
			}
		}()
	}
}
