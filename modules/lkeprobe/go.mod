module github.com/karpenter-linode/karpenter-linode/modules/lkeprobe

go 1.26.0

toolchain go1.26.10

require (
	github.com/karpenter-linode/karpenter-linode/modules/linode v0.1.0
	github.com/karpenter-linode/karpenter-linode/modules/linodesim v0.1.0
)

require (
	github.com/getkin/kin-openapi v0.152.0 // indirect
	github.com/go-openapi/jsonpointer v0.22.5 // indirect
	github.com/go-openapi/swag/jsonname v0.25.5 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/karpenter-linode/karpenter-linode/modules/claims v0.1.0 // indirect
	github.com/oapi-codegen/nullable v1.1.0 // indirect
	github.com/oasdiff/yaml v0.1.1 // indirect
	github.com/oasdiff/yaml3 v0.0.14 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	golang.org/x/text v0.32.0 // indirect
)

replace (
	github.com/karpenter-linode/karpenter-linode/modules/claims => ../claims
	github.com/karpenter-linode/karpenter-linode/modules/linode => ../linode
	github.com/karpenter-linode/karpenter-linode/modules/linodesim => ../linodesim
)
