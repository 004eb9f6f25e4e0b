#!/bin/sh
# Runs the end-to-end suites, or one of them.
#
#   tools/make/e2e.sh [SUITE [TIER]]
#
# SUITE is a name without its tier, as in TestTroubleEnterprise: trouble. Suites that exist for
# one tier only are named without it. "trouble/labels change" runs only those of its scenarios
# whose names contain the words.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off
suite=${1:-} tier=${2:-}

if [ -z "$suite" ]; then
	exec go test -count=1 -timeout 80m ./e2e
fi
scenario=
case $suite in
*/*) scenario=/${suite#*/} suite=${suite%%/*} ;;
esac
pattern="^Test(?i:$suite)(?i:${tier:-standard|enterprise})?\$"
found=$(go test -list "$pattern" ./e2e | grep '^Test' || true)
if [ -z "$found" ]; then
	echo "e2e: there is no suite '$suite' for tier '${tier:-any}'; there are:" >&2
	go test -list '^Test' ./e2e | sed -n 's/^Test/  /p' >&2
	exit 2
fi
exec go test -count=1 -timeout 30m -v -run "$pattern$scenario" ./e2e
