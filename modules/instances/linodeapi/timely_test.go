package linodeapi

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// limited answers the first request with a 429 that asks for five seconds, and all others
// with success.
type limited struct{ requests int }

func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	l.requests++
	status, body, header := http.StatusOK, `{}`, http.Header{"Content-Type": {"application/json"}}
	if l.requests == 1 {
		status, body = http.StatusTooManyRequests, `{"errors":[{"reason":"Too many requests"}]}`
		header.Set("Retry-After", "5")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// A write is decided from a reading right before it. If a pause after a 429 outlasts the time until which the write may be sent, it is
// not sent, and its effect is known: none.
func TestAWriteThatWaitedOutA429IsNotSentTooLate(t *testing.T) {
	writes := map[string]func(context.Context, instances.Backend) error{
		"create": func(ctx context.Context, b instances.Backend) error {
			_, err := b.Create(ctx, instances.Creation{})
			return err
		},
		"delete": func(ctx context.Context, b instances.Backend) error { return b.Delete(ctx, 7) },
		"tag": func(ctx context.Context, b instances.Backend) error {
			_, err := b.Tag(ctx, 7, nil)
			return err
		},
		"add a disk": func(ctx context.Context, b instances.Backend) error {
			_, err := b.AddDisk(ctx, 7, instances.Disk{SizeMB: 100})
			return err
		},
		"attach": func(ctx context.Context, b instances.Backend) error { return b.Attach(ctx, 7, 1, nil) },
		"boot":   func(ctx context.Context, b instances.Backend) error { return b.Boot(ctx, 7, 1) },
	}
	for name, write := range writes {
		for within, sent := range map[time.Duration]int{2 * time.Second: 1, time.Minute: 2} {
			t.Run(name+" within "+within.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					api := &limited{}
					client, err := linode.New(linode.Config{Token: linode.StaticToken("token"), Transport: api})
					if err != nil {
						t.Fatal(err)
					}
					b, err := New(client)
					if err != nil {
						t.Fatal(err)
					}
					request := effects.Request{NotAfter: time.Now().Add(within), Timeout: time.Minute}
					_, err = effects.NewRunner(1, clock.RealClock{}).Do(t.Context(), request, func(ctx context.Context) error { return write(ctx, b) })
					if api.requests != sent {
						t.Errorf("%d requests, want %d: %v", api.requests, sent, err)
					}
					if late := sent == 1; late && (err == nil || claims.EffectOf(err) != claims.EffectNone) {
						t.Errorf("a write that was not sent in time: effect %s of %v", claims.EffectOf(err), err)
					}
				})
			})
		}
	}
}
