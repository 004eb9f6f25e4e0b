#!/bin/sh
# Prints the plans of the account that LINODE_TOKEN is of, or of the simulated one that `make up` has started.
#
#   tools/make/plans.sh
#
# NODEPOOL=name prints what that NodePool could buy; REGIONS=us-ord,id-cgk or all compares regions. CLUSTER is the
# local cluster's name, as for make up.
set -eu
cd "$(dirname "$0")/../.."
set -- plans
[ -z "${NODEPOOL:-}" ] || set -- "$@" --nodepool "$NODEPOOL"
[ -z "${REGIONS:-}" ] || set -- "$@" --regions "$REGIONS"

if [ -z "${LINODE_TOKEN:-}" ]; then
	if ! exports=$(.bin/localcluster status 2>/dev/null); then
		echo "plans: set LINODE_TOKEN and CLUSTER_NAME, or start a local cluster with make up" >&2
		exit 1
	fi
	eval "$exports"
	: "${CLUSTER_NAME:=${CLUSTER:-dev}}"
	export CLUSTER_NAME
fi
exec .bin/controller "$@"
