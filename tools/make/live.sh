#!/bin/sh
# Runs karpenter-linode verify on a real LKE cluster, with that cluster's kubeconfig.
#
#   LINODE_TOKEN=... tools/make/live.sh CLUSTER [FLAG...]
set -eu
export GOWORK=off GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
cluster=$1
shift
kubeconfig=$(mktemp)
trap 'rm -f "$kubeconfig"' EXIT
# curl reads the token from standard input, so that a list of processes does not show it.
printf 'header = "Authorization: Bearer %s"\n' "$LINODE_TOKEN" |
	curl --fail --silent --show-error --config - "${LINODE_URL:-https://api.linode.com}/v4/lke/clusters/$cluster/kubeconfig" |
	jq -r .kubeconfig | base64 -d >"$kubeconfig"
(cd modules/advisor && go build -o ../../.bin/karpenter-linode ./cmd/karpenter-linode)
.bin/karpenter-linode verify --cluster "$cluster" --kubeconfig "$kubeconfig" --yes "$@"
