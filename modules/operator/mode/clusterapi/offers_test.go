package clusterapi

import (
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A program that predicts what the operator takes reads the MachineDeployments once, and finds the Cluster by its namespace.
func TestOffersAreThoseOfTheMachineDeployments(t *testing.T) {
	const ofCluster = "cluster.x-k8s.io/cluster-name"
	f := newFleet(t)
	listed := offered(t, newObjects(t)).Catalog
	hourly := func(string) (float64, bool) { return 0.05, true }
	if _, err := Offers(t.Context(), f.config, namespace, region, listed, hourly); err == nil || !strings.Contains(err.Error(), "0 Clusters") {
		t.Errorf("a namespace without MachineDeployments: %v", err)
	}
	f.deploy("general", "small", map[string]string{clusterapi.EnabledLabel: "true", ofCluster: cluster})
	f.deploy("large", "large", map[string]string{clusterapi.EnabledLabel: "true", ofCluster: cluster})
	f.deploy("by-hand", "sold-out", map[string]string{ofCluster: cluster})
	market, err := Offers(t.Context(), f.config, namespace, region, listed, hourly)
	if err != nil {
		t.Fatal(err)
	}
	found := byName(market.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{}))
	if len(found) != 2 || found["g6-standard-2"] == nil || found["g6-standard-4"] == nil || len(found["g6-standard-2"].Offerings) != 1 {
		t.Errorf("offered %v", found)
	}
	f.deploy("other", "small", map[string]string{clusterapi.EnabledLabel: "true", ofCluster: "other"})
	if _, err := Offers(t.Context(), f.config, namespace, region, listed, hourly); err == nil || !strings.Contains(err.Error(), "2 Clusters") {
		t.Errorf("a namespace of two Clusters: %v", err)
	}
}
