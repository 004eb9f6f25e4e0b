#!/bin/sh
# Writes all generated files again; `make generate` calls it. The line of each part names
# the part's sources or files. A second run changes nothing.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."

echo "generate: the client and the simulator's server from openapi/linode.yaml"
tools/codegen/generate.sh
echo "generate: deep copies and CRDs from modules/nodeclass and Karpenter"
charts/karpenter-crd/generate.sh
echo "generate: the charts' READMEs"
charts/generate-readmes.sh
echo "generate: docs/configuration.md, docs/metrics.md and docs/plans.md"
GOWORK=off go -C tools run ./docs/cmd/reference
