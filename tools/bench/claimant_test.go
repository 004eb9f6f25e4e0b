package bench_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

var createDeadline = flag.Duration("deadline", 10*time.Second, "how long one Create waits; 10 s is the operator's default")

// core repeats what Karpenter core v1.15.0 does with NodeClaims that have no
// instance yet, in its controller nodeclaim.lifecycle.
type core struct {
	limiter workqueue.TypedRateLimiter[string]
}

// newCore has core's limiter for a controller of up to one CPU: pauses of 1 s
// to 1 min for each NodeClaim, and for all of them together 10 repetitions a
// second, 100 at once. 1,000 NodeClaims are worked on at the same time.
func newCore() *core {
	return &core{limiter: workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
		&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(10, 100)},
	)}
}

// retried are the reasons of failures that end by themselves here.
var retried = map[string]bool{"Provisioning": true, "RateLimited": true, "LinodeAPIUnavailable": true}

// launch creates until the NodeClaim has its instance, and returns how many
// attempts it took.
//
// Core writes a failure into the NodeClaim's status if its reason or message differs from the present one. Then core waits a second, and
// its own write makes the NodeClaim due at once: the limiter counts, but core does not wait for it, because the queue takes the earlier
// time. A failure that changes nothing has to wait for the limiter.
func (c *core) launch(ctx context.Context, t *testing.T, o *operator, claim *karpv1.NodeClaim) (providerID string, attempts int) {
	condition := ""
	claim.CreationTimestamp = metav1.Now() // a bootstrap token ends by it
	for attempt := 1; ; attempt++ {
		created, err := o.provider.Create(ctx, claim)
		if err == nil {
			return created.Status.ProviderID, attempt
		}
		if errors.Is(context.Cause(ctx), errKilled) {
			return "", attempt
		}
		var failure *cloudprovider.CreateError
		if !errors.As(err, &failure) || !retried[failure.ConditionReason] || ctx.Err() != nil {
			t.Errorf("%s has no instance after %d attempts: %v", claim.Name, attempt, err)
			return "", attempt
		}
		wait := c.limiter.When(claim.Name)
		if now := failure.ConditionReason + ": " + failure.ConditionMessage; now != condition {
			condition, wait = now, time.Second
		}
		pause(ctx, wait)
	}
}
