module github.com/karpenter-linode/karpenter-linode/modules/clusterapi

go 1.26.9

toolchain go1.26.10

require (
	github.com/karpenter-linode/karpenter-linode/modules/claims v0.1.0
	k8s.io/utils v0.0.0-20260319190234-28399d86e0b5
)

replace github.com/karpenter-linode/karpenter-linode/modules/claims => ../claims
