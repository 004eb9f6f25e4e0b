// Package hostmaintenance finds the nodes for which Linode has announced maintenance of the host, so that Karpenter can replace the nodes
// before the maintenance begins.
//
// It is opt-in, because the list needs the token's scope account:read_only. A Watcher reads the account's list on an interval, with one
// request for all Linodes. Maintenance counts as pending when two reads in a row show it, and ends when one read does not show it; a read
// that fails changes nothing. Example, with 5 minutes: Linode announces work at 12:01, the reads at 12:05 and 12:10 show it, and from
// 12:10 on the node has drifted. A live migration does not interrupt a node and does not count. Each NodeClaim concerned gets one event.
// The cloud provider reports such a node as drifted, so core replaces it within the budgets of its NodePool.
//
// Package cmd/controller sets it up; it runs on the leader only. A Watcher is safe for concurrent use.
//
// After a restart of the operator the Watcher needs two reads again, so it may find a node one interval later.
//
// The event of the same maintenance is published once in 24 hours. Maintenance that has begun, is completed or was cancelled does not
// count. Maintenance of an unknown kind counts.
package hostmaintenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventHostMaintenance is the reason of the event on a NodeClaim whose Linode's host has maintenance pending.
const EventHostMaintenance = "HostMaintenance"

// Config configures a Watcher. All fields are required.
type Config struct {
	API       *linode.Client
	Kube      client.Reader // may read from a cache
	Events    events.Recorder
	Interval  time.Duration
	OnPending func(nodes int) // called after each read of the list, with the number of NodeClaims concerned
}

// Watcher is a Runnable of controller-runtime's manager.
type Watcher struct {
	cfg Config

	mu      sync.Mutex
	last    map[int]api.HostMaintenance // the maintenance in the last read, by Linode
	pending map[int]api.HostMaintenance // the part of last that the previous read showed, too
}

// New returns a Watcher.
func New(cfg Config) *Watcher { return &Watcher{cfg: cfg} }

// Start reads again and again until ctx ends.
func (w *Watcher) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := w.Read(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "cannot read the maintenance of hosts; trying again")
		}
	}, w.cfg.Interval)
	return nil
}

// Pending returns whether the host of a Linode has maintenance pending. It reads from memory alone.
func (w *Watcher) Pending(instanceID int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, is := w.pending[instanceID]
	return is
}

// Read reads the account's list once. It updates the pending maintenance, and reports it.
func (w *Watcher) Read(ctx context.Context) error {
	read := map[int]api.HostMaintenance{}
	for m, err := range w.cfg.API.ListHostMaintenance(ctx, linode.Filter{}) {
		if err != nil {
			return fmt.Errorf("listing the maintenance of hosts, which takes the scope account:read_only: %w", err)
		}
		if interrupts(m) {
			read[m.Entity.ID] = m
		}
	}
	w.mu.Lock()
	w.pending = maps.Clone(read)
	maps.DeleteFunc(w.pending, func(id int, _ api.HostMaintenance) bool { _, before := w.last[id]; return !before })
	w.last = read
	pending := w.pending
	w.mu.Unlock()
	return w.report(ctx, pending)
}

// interrupts returns whether a maintenance will interrupt its Linode. Unknown types and statuses count as interruptions.
func interrupts(m api.HostMaintenance) bool {
	over := slices.Contains([]string{"started", "in-progress", "completed", "canceled"}, m.Status)
	return m.Entity.Type == "linode" && m.Type != "live_migration" && !over
}

// report counts the NodeClaims concerned, and publishes an event on each of them.
func (w *Watcher) report(ctx context.Context, pending map[int]api.HostMaintenance) error {
	list := &karpv1.NodeClaimList{}
	if err := w.cfg.Kube.List(ctx, list); err != nil {
		return fmt.Errorf("listing NodeClaims: %w", err)
	}
	nodes := 0
	for i := range list.Items {
		claim := &list.Items[i]
		id, err := nodeclaim.InstanceID(claim.Status.ProviderID)
		m, is := pending[id]
		if err != nil || !is {
			continue
		}
		nodes++
		w.cfg.Events.Publish(events.Event{
			InvolvedObject: claim, Type: corev1.EventTypeWarning, Reason: EventHostMaintenance, Message: message(id, m),
			DedupeValues: []string{string(claim.UID), m.Type, when(m)}, DedupeTimeout: 24 * time.Hour,
		})
	}
	w.cfg.OnPending(nodes)
	return nil
}

func message(id int, m api.HostMaintenance) string {
	return fmt.Sprintf("Linode has announced maintenance of the host of Linode %d (%.40s) for %s; Karpenter replaces the node before that "+
		"time, within the budgets of its NodePool", id, m.Type, when(m))
}

func when(m api.HostMaintenance) string {
	for _, at := range []*api.Timestamp{m.When, m.StartTime, m.NotBefore} {
		if at != nil {
			return at.String() + " UTC"
		}
	}
	return "a time that is not known yet"
}
