package e2e_test

import "testing"

func TestEverydayStandard(t *testing.T)   { everyday(t, "standard") }
func TestEverydayEnterprise(t *testing.T) { everyday(t, "enterprise") }
func TestTroubleStandard(t *testing.T)    { trouble(t, "standard") }
func TestTroubleEnterprise(t *testing.T)  { trouble(t, "enterprise") }

// everyday is what users do, and the operator's death in the middle of it, with
// the chart's defaults.
func everyday(t *testing.T, tier string) {
	t.Parallel() // most of it is waiting for Karpenter's own windows
	e := start(t, "everyday", tier, nil)
	e.run(t, "scale up and down", scaleUpAndDown)
	e.run(t, "a deleted node takes its Linode with it", deletedNode)
	e.run(t, "two NodePools have pools of their own", twoNodePools)
	e.run(t, "a pod that asks for a GPU", gpuPod)
	e.run(t, "a pod that no instance type fits", impossiblePod)
	e.run(t, "a NodeClaim that belongs to no NodePool", handmadeNodeClaim)
	e.run(t, "LinodeNodeClasses that are refused", refusedNodeClasses)
	e.scenario(t, "Prometheus scrapes the operator and evaluates its alerts", scraped)
	e.run(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
}

// trouble is what the platform and people do behind the operator's back.
func trouble(t *testing.T, tier string) {
	t.Parallel()
	values := soonCollected(map[string]any{"name": "INSTANCE_TYPE_REFRESH_INTERVAL", "value": "5s"})
	values["settings"] = map[string]any{"hostMaintenance": true}
	e := start(t, "trouble", tier, values)
	e.run(t, "a plan without capacity", noCapacity)
	e.run(t, "a NodePool whose labels change", driftedLabels)
	e.run(t, "an instance that LKE replaces", lostInstance)
	e.run(t, "an instance without NodeClaim", strandedInstance)
	e.run(t, "maintenance of a host is announced", announcedMaintenance)
}

// soonCollected are values with which orphans are collected after 20 seconds instead
// of 5 minutes, so that it can be awaited, with more variables of the operator's.
func soonCollected(more ...any) map[string]any {
	return map[string]any{"controller": map[string]any{"env": append([]any{
		map[string]any{"name": "LKE_ORPHAN_TTL", "value": "20s"},
		map[string]any{"name": "GARBAGE_COLLECTION_INTERVAL", "value": "5s"},
	}, more...)}}
}
