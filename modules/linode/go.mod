module github.com/karpenter-linode/karpenter-linode/modules/linode

go 1.26.0

toolchain go1.26.10

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/karpenter-linode/karpenter-linode/modules/claims v0.1.0
	github.com/oapi-codegen/nullable v1.1.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	golang.org/x/sys v0.39.0 // indirect
)

replace github.com/karpenter-linode/karpenter-linode/modules/claims => ../claims
