// Package mode is the interface between the operator and its modes. A mode is one way to make nodes: package lke below takes them from
// LKE node pools, package instance makes plain Linodes that join a self-managed cluster, package clusterapi takes Machines of Cluster
// API.
//
// Each mode has two functions. Find finds the cluster with the Linode API before anything else is set up. New makes the mode's Nodes once
// the Kubernetes cluster can be used. Deps and Nodes are the same for all modes, so cmd/controller wires all modes in the same way; only
// its table of modes has one line for each.
//
// Nodes.Begin gets released, which is true if no write of an earlier replica can still take effect: that replica released the Lease, or
// there was no earlier replica. Deps.Lookup is nil with DISABLE_DRY_RUN: then no object that a class names is looked up. Answers about
// the cluster and these objects are at most four minutes old (AnswerTTL).
//
// Errors of Find are *options.Error, one line for the user; cmd/controller repeats Find while the API does not answer. One attempt may
// take 30 seconds (StartTimeout). New is called once. Nodes.Begin is called each time this replica is elected, before any controller
// starts.
package mode

import (
	"context"
	"net/http"
	"time"

	"github.com/awslabs/operatorpkg/controller"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

const (
	// StartTimeout bounds one attempt to read what the controllers need to start.
	StartTimeout = 30 * time.Second
	// AnswerTTL bounds the age of answers about the cluster and about the objects that a LinodeNodeClass names.
	AnswerTTL = 4 * time.Minute
)

// Find finds the cluster of the settings. Its errors are *options.Error; a call may be repeated.
type Find func(ctx context.Context, client *linode.Client, wanted discovery.Wanted) (Cluster, error)

// Cluster is a cluster that Find has found.
type Cluster struct {
	Region string                                              // of new nodes
	Tier   string                                              // of an LKE cluster, as the API names it; empty in other modes
	Log    func(logger logr.Logger)                            // writes the facts about the cluster, one line each
	New    func(ctx context.Context, deps Deps) (Nodes, error) // makes the mode's Nodes; called once
}

// Deps are the parts from which every mode is made.
type Deps struct {
	Options     options.Options
	Metrics     *metrics.Metrics
	Linode      *linode.Client
	Token       linode.TokenSource // of Linode
	Lookup      *nodeclass.Lookup  // nil = no object that a class names is looked up
	HourlyPrice func(instanceType string) (usd float64, known bool)
	Operator    *coreoperator.Operator // the Kubernetes side
	Drainer     *drain.Drainer
	Holder      claims.Holder // the NodeClaim whose status names an instance
	Catalog     cloudprovider.Catalog
	Inventory   *cloudprovider.Inventory                  // the nodes of the last reading
	Guard       func(http.RoundTripper) http.RoundTripper // holds writes back while another replica leads
}

// Nodes are the parts with which one mode makes and keeps nodes.
type Nodes struct {
	Backend cloudprovider.Backend
	Engine  Engine
	Catalog cloudprovider.Catalog // the types that the mode can make; nil = all types of Deps.Catalog
	// Begin forgets all readings, because this replica leads from now on. released is true if no write of an earlier replica can still
	// take effect.
	Begin       func(released bool)
	Cluster     func(context.Context) status.Cluster // the facts by which LinodeNodeClasses are judged
	Controllers []controller.Controller              // of this mode alone
	Runnables   []manager.Runnable                   // of this mode alone
	Firewalls   upkeep.Firewalls                     // of the instances; nil = the mode does not manage firewalls
	// Naming returns which of the Nodes with a NodeClaim's provider ID may belong to the NodeClaim.
	Naming karpentercore.Naming
	// NodeLabels returns the labels that the platform puts on the Node of an instance. nil = it puts none.
	NodeLabels func(instanceID int) map[string]string
}

// Engine collects instances that no NodeClaim owns, and changes tags.
type Engine interface {
	garbagecollection.Engine
	upkeep.Engine
}
