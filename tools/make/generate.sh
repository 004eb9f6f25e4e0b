#!/bin/sh
# Generates everything that is generated; `make generate` calls it. Each part says
# where its inputs are; running it twice changes nothing.
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
