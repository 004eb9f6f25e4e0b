package localcluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/lkeplayer"
)

const (
	nodePoll          = 50 * time.Millisecond
	readHeaderTimeout = 10 * time.Second
)

// startSimulator makes the account with its cluster and serves it on loopback:
// the API below /v4 and /v4beta, a page for people at /, and the admin interface on a port of its own.
func (c *Cluster) startSimulator(context.Context) error {
	profile, _, err := linodesim.ProfileFrom(c.opts.Profile)
	if err != nil {
		return err
	}
	c.SimToken = rand.Text()
	sim, err := linodesim.New(linodesim.Config{
		Profile: profile, TimeScale: c.opts.TimeScale, Seed: c.opts.Seed, Behaviour: c.opts.Behaviour,
		Tokens: map[string][]string{c.SimToken: {"*"}}, ValidateAnswers: !c.opts.Unchecked,
	})
	if err != nil {
		return err
	}
	c.Sim = sim
	if err := c.addOwnNodes(); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", sim.Page())
	mux.Handle("/", sim)
	if c.SimURL, err = c.serve(mux); err != nil {
		return err
	}
	if c.AdminURL, err = c.serve(sim.Admin()); err != nil || !c.instances() {
		return err
	}
	c.MetadataURL, err = c.serve(sim.Metadata())
	return err
}

// addOwnNodes makes the user's own nodes: an LKE cluster's, or Linodes that were set up by hand.
func (c *Cluster) addOwnNodes() error {
	if !c.instances() {
		cluster, err := c.Sim.AddCluster(linodesim.ClusterSpec{
			Label: c.Name, Region: c.opts.Region, Tier: c.opts.Tier, K8sVersion: c.opts.K8sVersion,
			Settled: true,
			Pools:   []linodesim.PoolSpec{{Type: c.opts.UserPoolType, Count: c.opts.Replicas}},
		})
		c.ClusterID = cluster.ID
		return err
	}
	for i := range c.opts.Replicas {
		_, err := c.Sim.AddInstance(linodesim.InstanceSpec{
			Label: c.ownNodes() + strconv.Itoa(i), Type: c.opts.UserPoolType, Region: c.opts.Region, Image: "linode/debian12",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) instances() bool { return c.opts.Mode == Instance }

// ownNodes is how the labels of Linodes begin that were set up by hand.
func (c *Cluster) ownNodes() string { return c.Name + "-by-hand-" }

// serve serves on a free port of loopback until Stop, and returns the base URL.
func (c *Cluster) serve(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("simulator: %w", err)
	}
	c.serveOn(listener, handler)
	return "http://" + listener.Addr().String(), nil
}

// serveOn serves until Stop.
func (c *Cluster) serveOn(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Close below, and with nothing else
	}()
	c.onStop(func(context.Context) { _ = server.Close(); <-done })
}

// waitForUserNodes waits until the user's nodes can take pods.
func (c *Cluster) waitForUserNodes(ctx context.Context) error {
	ticker := time.NewTicker(nodePoll)
	defer ticker.Stop()
	for {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) >= c.opts.Replicas && !slices.ContainsFunc(list.Items, unusable) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the user's nodes do not become ready (%w); logs: %s", context.Cause(ctx), c.LogDir())
		case <-ticker.C:
		}
	}
}

func unusable(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == lkeplayer.UninitializedTaint || taint.Key == corev1.TaintNodeNotReady {
			return true
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status != corev1.ConditionTrue
		}
	}
	return true
}
