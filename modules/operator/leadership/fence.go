// Package leadership keeps a replica that does not lead from changing anything through the Linode API.
//
// The API has no preconditions, so two replicas that write at once could give one instance to two NodeClaims. Leader election alone does
// not prevent that. Example: a leader freezes (a stalled host, a paused VM, SIGSTOP) for longer than its Lease lasts, and another replica
// takes over. The old leader wakes up with requests in hand, and client-go gives it another renew deadline, 10 s, before it reports that
// another replica leads.
//
// A [Fence] wraps the elector's lock and lets a write pass to the Linode API only while the last successful renewal is valid. It costs no
// request. Package cmd/controller wires it, for a process that takes part in the election:
//
//	fence := leadership.NewFence(2*time.Minute, func(ctx context.Context, released bool) error { nodes.Begin(released); return nil })
//	options.LeaderElectionResourceLockInterface = fence.Lock(lock)
//	client.Transport = fence.Guard(client.Transport)
//	manager.Add(fence) // ends the process when another replica leads
//
// # Releasing the Lease
//
// A released Lease means that no write of its holder, or of earlier holders, may take effect any more. So the Fence does not release the
// Lease, and lets it expire, in these cases:
//
//   - A write is under way.
//   - A write was answered with a server error or not at all, and may still take effect.
//   - The holder followed a replica that died, whose writes may still take effect.
//
// The next replica then waits for the expiry, and for the time in which the writes may take effect.
//
// # Guaranteed
//
// No write is begun after the Lease has expired, before the first election, or after the Lease was released. The Lease counts as expired
// when its duration has passed on the wall clock or on the monotonic clock, whichever is first: the wall clock may be set back, and the
// monotonic clock may stop while a VM is paused. Other replicas wait for the same duration from when they observed the last renewal,
// which is later. Reads always pass.
//
// The Fence is checked when a write is begun, when it has its connection (dialling and TLS take time), and with each piece of its body.
//
// # Not guaranteed
//
// A write that was begun in time may arrive late. A process that is frozen between the last check and the system call sends the write
// when it wakes. Requests to the Kubernetes API server are not held back; the process ends as soon as its elector reads that another
// replica leads, within the retry period of 2 s after it wakes. When the Lease could not be renewed in time, writes are held back and the
// elector decides whether to go on.
//
// A Fence is safe for concurrent use.
//
// A write that the Fence holds back fails with ErrNotLeading as a connection that could not be made does, so the client knows that it was
// not sent. Start returns ErrReplaced if another replica leads, which ends the process. ErrUnanswered is the cause when the Lease was not
// released.
package leadership

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrNotLeading is the cause when a write was held back.
var ErrNotLeading = errors.New("this replica does not lead: its Lease has expired or was never held")

// ErrReplaced is why Start ended.
var ErrReplaced = errors.New("leadership lost: the Lease is held by another replica")

// Fence holds until when this process leads.
type Fence struct {
	now      func() moment
	lease    atomic.Pointer[lease] // nil = does not lead
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

// NewFence returns the Fence of a process that does not lead yet. elected is called before any controller starts, when this process has got
// the Lease, with whether nothing of a replica before may take effect any more: it released the Lease, or there was none. Until it returns
// no error this process does not lead, and the elector tries again. It may be nil. lateEffect is how long after its failure a write may
// still take effect: the engines wait as long after a process that died.
func NewFence(lateEffect time.Duration, elected func(ctx context.Context, released bool) error) *Fence {
	return &Fence{now: systemNow, elected: elected, writes: unanswered{lateEffect: lateEffect}, replaced: make(chan struct{})}
}

// follow is called when this process has got the Lease, until it returns no error.
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

// Start returns an error when this process led and another replica leads. It is a Runnable of controller-runtime's manager, which
// starts it once this process leads, and ends with it.
func (f *Fence) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-f.replaced:
		return ErrReplaced
	}
}

// Lock returns the elector's lock, observed: a renewal counts from when its request was begun, for the duration in the Lease. A Lease
// that has expired is not released, because client-go would overwrite the Lease of another replica. A Lease whose holder has a write that
// may still take effect is not released, either.
func (f *Fence) Lock(next resourcelock.Interface) resourcelock.Interface { return lock{next, f} }

type lock struct {
	resourcelock.Interface
	fence *Fence
}

// Get implements resourcelock.Interface.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() { // otherwise this process has got it, and is not done with following
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
