package bench_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// lease is how long after a leader's death the next one leads, with the defaults of leader election.
const lease = 15 * time.Second

// killedAfter are the moments of the kill after the first NodeClaim: the purchase waits for its answer, or the nodes for their IDs, or
// their claims are being written.
var killedAfter = []time.Duration{600 * time.Millisecond, 4 * time.Second, 7300 * time.Millisecond, 8200 * time.Millisecond}

var errKilled = errors.New("the process was killed")

// mortal is the transport of a process that can be killed: nothing is sent after that, and no answer arrives.
type mortal struct {
	next http.RoundTripper
	dead atomic.Bool
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead.Load() {
		return nil, errKilled
	}
	answer, err := m.next.RoundTrip(r)
	if m.dead.Load() {
		if err == nil {
			_ = answer.Body.Close()
		}
		return nil, errKilled
	}
	return answer, err
}

// becomes makes the client of a new process.
func (l *lab) becomes() *mortal {
	l.t.Helper()
	m := &mortal{next: l.log}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: m})
	if err != nil {
		l.t.Fatal(err)
	}
	l.client = client
	return m
}

// runKilled measures a scale-up in which the leader is killed. mode is a tier of LKE, or bench.Instance.
func runKilled(t *testing.T, mode string, n int, after time.Duration) bench.Killed {
	t.Helper()
	k := bench.Killed{Mode: mode, N: n, After: after}
	synctest.Test(t, func(t *testing.T) {
		profile := linodesim.Realistic()
		profile.InstanceID = linodesim.Exactly(5 * time.Second)
		var l *lab
		var start func(claims.Predecessor, claims.Records) *operator
		if mode == bench.Instance {
			l = openLab(t, profile, *seed)
			start = func(after claims.Predecessor, records claims.Records) *operator {
				return newInstanceOperator(t, l, classUsual, after, records)
			}
		} else {
			l = newLab(t, mode, profile, *seed)
			start = func(after claims.Predecessor, records claims.Records) *operator {
				l.connect()
				l.lead(after, records)
				return newOperator(t, l, *createDeadline)
			}
		}
		wanted := scene{n: n}.claims()
		first := l.becomes()
		o := start(claims.Ended, &claims.RecordMap{})
		time.Sleep(upFor)
		present, began, before := l.present(), time.Now(), l.tally()
		ctx, kill := context.WithCancelCause(t.Context())
		records, unserved := &claims.RecordMap{}, make(chan *karpv1.NodeClaim, n)
		var group sync.WaitGroup
		core := newCore()
		for _, claim := range wanted {
			group.Go(func() {
				if id, _ := core.launch(ctx, t, o, claim); id == "" {
					unserved <- claim
				} else {
					store(t, records, id, claim)
				}
			})
		}
		time.Sleep(after)
		first.dead.Store(true)
		kill(errKilled)
		killed := time.Now()
		group.Wait()
		close(unserved)
		k.Served = len(records.All())

		time.Sleep(lease - time.Since(killed))
		l.becomes()
		o = start(claims.MayStillWrite, records)
		patient, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		core = newCore()
		for claim := range unserved {
			group.Go(func() {
				if id, _ := core.launch(patient, t, o, claim); id != "" {
					store(t, records, id, claim)
				}
			})
		}
		group.Wait()
		k.Took, k.Calls = time.Since(killed), l.tally().since(before).calls
		k.Requested, k.Present = l.requestedSince(began, mode), l.present()-present
		if held := len(records.All()); held != n {
			t.Errorf("%d NodeClaims have %d instances", n, held)
		}
	})
	return k
}

// store records what the API server would have in the NodeClaim's status.
func store(t *testing.T, records *claims.RecordMap, providerID string, claim *karpv1.NodeClaim) {
	id, err := nodeclaim.InstanceID(providerID)
	if err != nil {
		t.Error(err)
		return
	}
	records.Store(id, nodeclaim.Claimant(claim))
}

// requestedSince counts the nodes that were requested since then.
func (l *lab) requestedSince(began time.Time, mode string) (n int) {
	if mode != bench.Instance {
		return l.boughtSince(began).nodes
	}
	for _, e := range l.sim.Audit() {
		if e.Action == linodesim.InstanceCreated && !e.At.Before(began) {
			n++
		}
	}
	return n
}

// The targets hold at each moment of the kill.
func TestAKilledLeaderIsReplacedInTime(t *testing.T) {
	for _, mode := range append([]string{bench.Instance}, tiers...) {
		for _, after := range killedAfter {
			t.Run(strings.Join([]string{mode, after.String()}, "/"), func(t *testing.T) {
				result := runKilled(t, mode, 20, after).Result()
				t.Log(result.Line(), result.Details)
				for _, target := range bench.Targets {
					if target.Bench == bench.Kills {
						for _, line := range bench.Missed([]bench.Target{target}, []bench.Result{result}) {
							t.Error(line)
						}
					}
				}
			})
		}
	}
}
