package experiment

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
)

// burstPools is how many pools are requested at once.
const burstPools = 20

var burstQuestions = []lab.Question{
	{ID: "burst.accepted", Text: "20 POST pools at once: accepted", Expected: "20"},
	{ID: "burst.ids", Text: "How long after the first of them the last Linode has its ID", Expected: lab.Unknown},
}

// burst makes many pools at once, as a scale-up over many plans and NodePools does.
func burst(ctx context.Context, l *lab.Lab) error {
	var all sync.WaitGroup
	var accepted atomic.Int64
	var last atomic.Pointer[error]
	start := time.Now()
	for range burstPools {
		all.Go(func() {
			p, err := l.Create(ctx, lab.Spec{Count: 1})
			if err == nil {
				accepted.Add(1)
				a := p.Expect(1, p.Asked, nil)
				err = a.WaitForID(ctx)
				a.NoteAs(report.BurstID)
				err = ended(ctx, err, p)
			}
			if err != nil {
				last.Store(&err)
			}
		})
	}
	all.Wait()
	l.Book.Answer("burst.accepted", fmt.Sprint(accepted.Load()))
	if err := last.Load(); err != nil {
		return *err
	}
	l.Book.Answer("burst.ids", time.Since(start).Round(time.Second).String())
	return nil
}
