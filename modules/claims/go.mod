module github.com/karpenter-linode/karpenter-linode/modules/claims

go 1.26.0

toolchain go1.26.10
