package lke

import (
	"context"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// Tracker follows the cluster's version: an Enterprise cluster is upgraded in place, and new nodes must run the control plane's version.
// It makes a request only when a caller asks, and at most one request in each ttl for all callers. The first call after ttl notices an
// upgrade. Safe for concurrent use.
type Tracker struct {
	client *linode.Client
	ttl    time.Duration

	mu      sync.Mutex
	cluster Cluster
	read    time.Time
}

// NewTracker returns a Tracker that starts with the cluster from FindCluster. The next call after ttl reads the cluster again.
func NewTracker(client *linode.Client, cluster Cluster, ttl time.Duration) *Tracker {
	return &Tracker{client: client, ttl: ttl, cluster: cluster, read: time.Now()}
}

// Cluster returns the cluster. If the API does not answer, it returns the cluster of the last reading.
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
