package e2e_test

import "testing"

func TestEverydayStandard(t *testing.T)   { everyday(t, "standard") }
func TestEverydayEnterprise(t *testing.T) { everyday(t, "enterprise") }
func TestTroubleStandard(t *testing.T)    { trouble(t, "standard") }
func TestTroubleEnterprise(t *testing.T)  { trouble(t, "enterprise") }

// everyday covers ordinary use, and a kill of the operator in the middle of it, with
// the chart's defaults.
func everyday(t *testing.T, tier string) {
	t.Parallel() // most of it is waiting for Karpenter's own windows
	e := start(t, "everyday", tier, nil)
	e.together(t, ordinary()...)
	// Karpenter has one event in five minutes for a pod without a node; if there are other NodePools, the event has their reason.
	e.run(t, "a pod that no instance type fits", impossiblePod)
	e.scenario(t, "a NodeClaim that belongs to no NodePool", handmadeNodeClaim)
	e.scenario(t, "Prometheus scrapes the operator and evaluates its alerts", scraped)
	e.scenario(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
}

// trouble covers changes by the platform and by users that the operator did not make.
func trouble(t *testing.T, tier string) {
	t.Parallel()
	values := soonCollected(map[string]any{"name": "INSTANCE_TYPE_REFRESH_INTERVAL", "value": "5s"})
	values["settings"] = map[string]any{"hostMaintenance": true}
	e := start(t, "trouble", tier, values)
	e.together(t, troubled()...)
}

func ordinary() []part {
	return []part{
		inLane("updown", "scale up and down", scaleUpAndDown, cleared),
		inLane("deleted", "a deleted node takes its Linode with it", deletedNode, cleared),
		inLane("teams", "two NodePools have pools of their own", twoNodePools, cleared),
		inLane("gpu", "a pod that asks for a GPU", gpuPod, cleared),
		inLane("refused", "LinodeNodeClasses that are refused", refusedNodeClasses, cleared),
	}
}

func troubled() []part {
	return []part{
		inLane("labels", "a NodePool whose labels change", driftedLabels, cleared),
		inLane("replaced", "an instance that LKE replaces", lostInstance, cleared),
		inLane("stranded", "an instance without NodeClaim", strandedInstance, cleared),
		inLane("host", "maintenance of a host is announced", announcedMaintenance, swept),
	}
}

// soonCollected are values with which orphans are collected after 20 seconds instead
// of 5 minutes, so that it can be awaited, with more variables of the operator's.
func soonCollected(more ...any) map[string]any {
	return map[string]any{"controller": map[string]any{"env": append([]any{
		map[string]any{"name": "LKE_ORPHAN_TTL", "value": "20s"},
		map[string]any{"name": "GARBAGE_COLLECTION_INTERVAL", "value": "5s"},
	}, more...)}}
}
