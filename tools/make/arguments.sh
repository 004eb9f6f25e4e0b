#!/bin/sh
# Checks the arguments of a verb of make before anything is built. An error names the allowed values.
#
#   tools/make/arguments.sh VERB     with the arguments in the environment, as make has them
#
# The operator's chart checks its own values. For this check one program is built first: .bin/localcluster.
set -eu
cd "$(dirname "$0")/../.."
verb=$1

fail() {
	echo "$verb: $*" >&2
	exit 2
}

# one_of NAME VALUE CHOICE...
one_of() {
	name=$1 value=$2
	shift 2
	for choice; do
		[ "$value" != "$choice" ] || return 0
	done
	fail "$name=$value: it must be one of $*"
}

# form NAME VALUE PATTERN DESCRIPTION
form() {
	echo "$2" | grep -Eqx "$3" || fail "$1=$2: it must be $4"
}

platform() {
	one_of MODE "${MODE:-lke}" lke instance clusterapi
	one_of TIER "${TIER:-standard}" standard enterprise
	case ${PROFILE:-fast} in
	*.json) [ -r "$PROFILE" ] || fail "PROFILE=$PROFILE: there is no such file" ;;
	*) one_of PROFILE "${PROFILE:-fast}" fast realistic slow stale hostile 'a report of verify, FILE.json' ;;
	esac
	[ -z "${KUBERNETES:-}" ] || form KUBERNETES "$KUBERNETES" 'v?1[.](3[1-7])[.][0-9]+' "a release of 1.31 to 1.37, such as 1.37.2"
	if [ -n "${POOLS:-}" ]; then
		[ "${MODE:-lke}" = lke ] || fail "POOLS=$POOLS: mode $MODE has no LKE pools"
		form POOLS "$POOLS" '[a-z0-9-]+:[0-9]+(:[0-9]+-[0-9]+)?(,[a-z0-9-]+:[0-9]+(:[0-9]+-[0-9]+)?)*' \
			"plan:nodes or plan:nodes:least-most, such as g6-standard-2:2:1-4"
	fi
	form CLUSTER "${CLUSTER:-dev}" '[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?' "lower case letters, digits and dashes, at most 30"
}

values() {
	[ -z "${VALUES:-}" ] || [ -r "$VALUES" ] || fail "VALUES=$VALUES: there is no such file"
	[ -n "${VALUES:-}${GATES:-}" ] || return 0
	tools/make/build.sh -quick localcluster
	.bin/localcluster check --mode="${MODE:-lke}" --tier="${TIER:-standard}" --values="${VALUES:-}" --gates="${GATES:-}" || exit 2
}

suites() {
	sed -n 's|^func Test\([A-Z][A-Za-z]*\)(t .*|\1|p' tools/e2e/*_test.go | sort
}

case $verb in
build) platform ;;
demo | up)
	platform
	values
	;;
e2e)
	[ -z "${KUBERNETES:-}" ] || form KUBERNETES "$KUBERNETES" 'v?1[.](3[1-7])[.][0-9]+' "a release of 1.31 to 1.37, such as 1.37.2"
	[ -z "${TIER:-}" ] || one_of TIER "$TIER" standard enterprise
	suite=${SUITE:-}
	if [ -n "$suite" ] && ! suites | grep -Eqix "${suite%%/*}(${TIER:-standard|enterprise})?"; then
		fail "SUITE=$suite: there is no such suite${TIER:+ for tier $TIER}; there are" $(suites)
	fi
	;;
plans)
	[ -z "${NODEPOOL:-}" ] || form NODEPOOL "$NODEPOOL" '[a-z0-9]([a-z0-9.-]*[a-z0-9])?' "the name of a NodePool"
	[ -z "${REGIONS:-}" ] || form REGIONS "$REGIONS" 'all|[a-z]{2}-[a-z0-9-]+(,[a-z]{2}-[a-z0-9-]+)*' "all, or regions such as us-ord,id-cgk"
	if [ -z "${KUBECONFIG:-}" ] && { [ -z "${REGIONS:-}" ] || [ -n "${NODEPOOL:-}" ]; }; then
		[ -x .bin/localcluster ] && .bin/localcluster status >/dev/null 2>&1 ||
			fail "set KUBECONFIG or REGIONS=us-ord,id-cgk, or start a local cluster with make up${CLUSTER:+ CLUSTER=$CLUSTER}"
	fi
	;;
esac
