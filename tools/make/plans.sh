#!/bin/sh
# Prints plans and prices of REGIONS, or else of the region of a cluster: the cluster of KUBECONFIG, or else the cluster that `make up` has
# started.
#
#   tools/make/plans.sh
#
# NODEPOOL=name prints the plans that this NodePool of the cluster could buy. REGIONS=us-ord,id-cgk, or all, compares regions. CLUSTER is
# the local cluster's name, as for make up.
set -eu
cd "$(dirname "$0")/../.."
set -- plans
[ -z "${NODEPOOL:-}" ] || set -- "$@" --nodepool "$NODEPOOL"
[ -z "${REGIONS:-}" ] || set -- "$@" --regions "$REGIONS"

if [ -z "${KUBECONFIG:-}" ] && exports=$(.bin/localcluster status 2>/dev/null); then
	eval "$exports"
fi
exec .bin/karpenter-linode "$@"
