package lke

import (
	"context"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// Tracker follows the cluster's version: an Enterprise cluster is upgraded in place, and new nodes must run the
// control plane's version. It makes a call only when a caller asks, and at most one in each ttl for all callers; the
// first call after ttl notices an upgrade. Safe for concurrent use.
type Tracker struct {
	client *linode.Client
	ttl    time.Duration

	mu      sync.Mutex
	cluster Cluster
	read    time.Time
}

// NewTracker starts from what FindCluster returned. An entry older than ttl is read again at the next call.
func NewTracker(client *linode.Client, cluster Cluster, ttl time.Duration) *Tracker {
	return &Tracker{client: client, ttl: ttl, cluster: cluster, read: time.Now()}
}

// Cluster returns the cluster as last read. When the API does not answer, it returns the cluster as known before.
func (t *Tracker) Cluster(ctx context.Context) Cluster {
	t.mu.Lock()
	cluster, fresh := t.cluster, time.Since(t.read) < t.ttl
	if !fresh {
		t.read = time.Now() // one caller reads; the others go on with the last answer
	}
	t.mu.Unlock()
	if fresh {
		return cluster
	}
	answer, err := t.client.GetCluster(ctx, cluster.ID)
	if err != nil || answer.K8SVersion == "" {
		return cluster
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cluster.Version = answer.K8SVersion
	return t.cluster
}
