package e2e_test

import (
	"testing"
)

func TestStandard(t *testing.T)   { everything(t, "standard") }
func TestEnterprise(t *testing.T) { everything(t, "enterprise") }

func everything(t *testing.T, tier string) {
	t.Parallel() // most of it is waiting for Karpenter's own windows
	e := start(t, tier)
	e.run(t, "scale up and down", scaleUpAndDown)
	e.run(t, "a deleted node takes its Linode with it", deletedNode)
	e.run(t, "two NodePools have pools of their own", twoNodePools)
	e.run(t, "a pod that asks for a GPU", gpuPod)
	e.run(t, "a pod that no instance type fits", impossiblePod)
	e.run(t, "LinodeNodeClasses that are refused", refusedNodeClasses)
	e.run(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
}
