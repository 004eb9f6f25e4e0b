// Package leadership keeps a replica that does not lead from changing anything through the Linode API.
//
// The API has no preconditions, so two replicas that write at the same time could give one instance to two NodeClaims. Leader election
// alone does not prevent this. Example: a leader freezes (a stalled host, a paused VM, SIGSTOP) for longer than the duration of its Lease,
// and another replica takes over. The old leader wakes up and continues with its requests. client-go gives it another renew deadline, 10 s,
// before it reports that another replica leads.
//
// A [Fence] wraps the elector's lock. It lets a write pass to the Linode API only while the Lease is valid after its last successful
// renewal. It costs no request. Package cmd/controller wires it, for a process that takes part in the election:
//
//	fence := leadership.NewFence(2*time.Minute, func(ctx context.Context, released bool) error { nodes.Begin(released); return nil })
//	options.LeaderElectionResourceLockInterface = fence.Lock(lock)
//	client.Transport = fence.Guard(client.Transport)
//	manager.Add(fence) // ends the process when another replica leads
//
// # Releasing the Lease
//
// A released Lease means that no write of its holder, or of earlier holders, can still take effect. So the Fence does not release the
// Lease, and lets it expire, in these cases:
//
//   - A write is under way.
//   - A write was answered with a server error or not at all, and may still take effect.
//   - The holder followed a replica that died, whose writes may still take effect.
//
// The next replica then waits until the Lease has expired, and afterwards for the time in which the writes may take effect.
//
// # Guaranteed
//
// No write begins before the first election, after the Lease has expired, or after the Lease was released. The Lease counts as expired
// when its duration has passed on the wall clock or on the monotonic clock, whichever is first: the wall clock may be set back, and the
// monotonic clock may stop while a VM is paused. Example, with a Lease of 15 s: the leader begins a renewal at 12:00:00, another replica
// observes it at 12:00:02. The leader's writes pass until 12:00:15, and the other replica leads from 12:00:17 on. Reads always pass.
//
// The Fence checks a write when the write begins, when it has its connection (dialling and TLS take time), and with each piece of its body.
//
// # Not guaranteed
//
// A write that began in time may arrive late. A process that is frozen between the last check and the system call sends the write when it
// wakes. The Fence does not hold back requests to the Kubernetes API server. The process ends as soon as its elector reads that another
// replica leads, within the retry period of 2 s after it wakes. If the Lease could not be renewed in time, the Fence holds writes back, and
// the elector decides whether the process goes on.
//
// A Fence is safe for concurrent use.
//
// A write that the Fence holds back fails with the error of a connection that could not be made, so the client knows that the write was
// not sent. The cause of the error is ErrNotLeading. Start returns ErrReplaced if another replica leads, which ends the process.
// ErrUnanswered is the error when the Fence does not release the Lease.
package leadership

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrNotLeading is the cause of the error of a write that was held back.
var ErrNotLeading = errors.New("this replica does not lead: its Lease has expired or was never held")

// ErrReplaced is the error of Start when another replica leads.
var ErrReplaced = errors.New("leadership lost: the Lease is held by another replica")

// Fence has the time until which this process leads.
type Fence struct {
	now      func() moment
	lease    atomic.Pointer[lease] // nil = this process does not lead
	led      atomic.Bool
	elected  func(ctx context.Context, released bool) error
	free     atomic.Bool // the Lease was released when it was last read, or did not exist
	writes   unanswered
	replaced chan struct{}
	once     sync.Once // closes replaced
}

// A moment is a time on both clocks.
type moment struct {
	wall time.Time     // without monotonic reading
	mono time.Duration // since the process began
}

var processStart = time.Now()

func systemNow() moment {
	now := time.Now()
	return moment{wall: now.Round(0), mono: now.Sub(processStart)}
}

type lease struct {
	renewed moment
	lasts   time.Duration
}

func (l *lease) valid(now moment) bool {
	return l != nil && now.wall.Sub(l.renewed.wall) < l.lasts && now.mono-l.renewed.mono < l.lasts
}

// NewFence returns the Fence of a process that does not lead yet. elected, which may be nil, is called when this process has got the Lease,
// before any controller starts. released is true if no write of an earlier replica can still take effect: the earlier replica released the
// Lease, or there was no Lease. While elected returns an error, this process does not lead, and the elector tries again. lateEffect is the
// longest time after its failure in which a write may still take effect; the engines wait for the same time after a replica that died.
func NewFence(lateEffect time.Duration, elected func(ctx context.Context, released bool) error) *Fence {
	return &Fence{now: systemNow, elected: elected, writes: unanswered{lateEffect: lateEffect}, replaced: make(chan struct{})}
}

// follow calls elected when this process has got the Lease, and lets this process lead if elected returns no error. Each renewal calls it
// again until then.
func (f *Fence) follow(ctx context.Context, now moment) error {
	free := f.free.Load()
	if f.elected != nil {
		if err := f.elected(ctx, free); err != nil {
			return err
		}
	}
	if !free {
		f.writes.inherit(now)
	}
	f.led.Store(true)
	return nil
}

func (f *Fence) leads() bool { return f.lease.Load().valid(f.now()) }

// Start returns ErrReplaced when this process has led and another replica leads. It is a Runnable of controller-runtime's manager. The
// manager starts it once this process leads, and ends when Start returns an error.
func (f *Fence) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-f.replaced:
		return ErrReplaced
	}
}

// Lock returns the elector's lock with the Fence around it. A renewal counts from the beginning of its request, for the duration in the
// Lease. The lock does not release a Lease that has expired, because client-go would overwrite the Lease of another replica. It does not
// release the Lease of a holder with a write that may still take effect, either.
func (f *Fence) Lock(next resourcelock.Interface) resourcelock.Interface { return lock{next, f} }

type lock struct {
	resourcelock.Interface
	fence *Fence
}

// Get implements resourcelock.Interface.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() { // if this process holds the Lease, free keeps the state before it got the Lease
		l.fence.free.Store(record.HolderIdentity == "")
	}
	if err == nil && l.fence.led.Load() && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.fence.once.Do(func() { close(l.fence.replaced) })
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.fence.free.Store(true)
	return l.write(ctx, record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, func() error { return l.Interface.Update(ctx, record) })
}

func (l lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, do func() error) error {
	begun, releases := l.fence.now(), record.HolderIdentity == ""
	if releases {
		if !l.fence.leads() {
			return ErrNotLeading
		}
		l.fence.lease.Store(nil) // another replica may lead as soon as it reads the Lease
		if l.fence.writes.any(begun) {
			return ErrUnanswered
		}
	}
	if err := do(); err != nil || releases {
		return err
	}
	if !l.fence.led.Load() {
		if err := l.fence.follow(ctx, begun); err != nil {
			return err
		}
	}
	l.fence.lease.Store(&lease{begun, time.Duration(record.LeaseDurationSeconds) * time.Second})
	return nil
}
