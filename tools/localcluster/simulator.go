package localcluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

const (
	nodePoll          = 50 * time.Millisecond
	readHeaderTimeout = 10 * time.Second

	region = "us-ord"
	// ownPlan is the plan of the user's own nodes. A node has room for the operator's pod, and no room for a pod that requests a whole CPU.
	ownPlan = "g6-standard-1"
)

// startSimulator makes the account with its cluster and serves it on loopback: the API below /v4 and /v4beta, and a page for people at /.
// The admin interface has a separate port. With plain Linodes, so has the Metadata service.
func (c *Cluster) startSimulator(ctx context.Context) error {
	profile, _, err := linodesim.ProfileFrom(c.opts.Profile)
	if err != nil {
		return err
	}
	c.SimToken, c.OwnerToken, c.managerToken, c.storageToken = rand.Text(), rand.Text(), rand.Text(), rand.Text()
	sim, err := linodesim.New(linodesim.Config{
		Profile: profile, TimeScale: c.opts.TimeScale, Behaviour: c.opts.Behaviour,
		Tokens: map[string][]string{
			c.SimToken: {"*"}, c.OwnerToken: {"*"}, c.managerToken: cloudControllerScopes, c.storageToken: storageScopes,
		},
		ValidateAnswers: !c.opts.Unchecked,
	})
	if err != nil {
		return err
	}
	c.Sim = sim
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", sim.Page())
	mux.Handle("/", sim)
	served := map[*string]http.Handler{&c.SimURL: mux, &c.AdminURL: sim.Admin()}
	if c.opts.instances() {
		served[&c.MetadataURL] = sim.Metadata()
	}
	for url, handler := range served {
		port, err := c.serve(handler, nil)
		if err != nil {
			return fmt.Errorf("simulator: %w", err)
		}
		*url = local(port)
	}
	if err := c.addOwnNodes(ctx); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	return nil
}

// addOwnNodes makes the user's own nodes: the nodes of an LKE cluster, or Linodes that were set up by hand.
func (c *Cluster) addOwnNodes(ctx context.Context) error {
	if !c.opts.instances() {
		cluster, err := c.Sim.AddCluster(linodesim.ClusterSpec{
			Label: c.Name, Region: region, Tier: c.opts.Tier, K8sVersion: c.opts.K8sVersion,
			Settled: true,
			Pools:   append([]linodesim.PoolSpec{{Type: ownPlan, Count: c.opts.Replicas}}, c.opts.Pools...),
		})
		c.ClusterID = cluster.ID
		return err
	}
	if err := c.makeVPC(ctx); err != nil {
		return err
	}
	for i := range c.opts.Replicas {
		_, err := c.Sim.AddInstance(linodesim.InstanceSpec{
			Label: ownNodes(c.Name) + strconv.Itoa(i), Type: ownPlan, Region: region, Image: "linode/debian12",
			PrivateIP: c.SubnetID == 0, SubnetID: c.SubnetID, Tags: c.opts.CloudController.tags(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// instances reports whether nodes are plain Linodes that join a self-managed cluster.
func (o *Options) instances() bool { return o.Mode != LKE }

// ownNodes is the beginning of the labels of Linodes that were set up by hand.
func ownNodes(cluster string) string { return cluster + "-by-hand-" }

// serve serves on a free port of loopback until Stop; config is nil for plain HTTP.
func (c *Cluster) serve(handler http.Handler, config *tls.Config) (port int, err error) {
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	var done sync.WaitGroup
	at, err := netip.ParseAddrPort(listener.Addr().String())
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	done.Go(func() { _ = server.Serve(listener) }) // returns only after Close below
	c.onStop(func(context.Context) { _ = server.Close(); done.Wait() })
	return int(at.Port()), err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// waitForUserNodes waits until the user's nodes can take pods.
func (c *Cluster) waitForUserNodes(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, nodePoll, true, func(ctx context.Context) (bool, error) {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) >= c.opts.ownNodes() && !slices.ContainsFunc(list.Items, unusable), nil
	})
	if err != nil {
		return fmt.Errorf("the user's nodes do not become ready (%w); logs: %s", context.Cause(ctx), c.LogDir())
	}
	return nil
}

func unusable(node corev1.Node) bool {
	return nodeutils.GetCondition(&node, corev1.NodeReady).Status != corev1.ConditionTrue ||
		slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == simulatedlke.UninitializedTaint || taint.Key == corev1.TaintNodeNotReady
		})
}
