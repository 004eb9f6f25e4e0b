#!/bin/sh
# Runs the end-to-end suites, or one of them.
#
#   tools/make/e2e.sh [SUITE [TIER]]
#
# SUITE is the name of a test without Test and without the tier: trouble for TestTroubleEnterprise.
# The name of a suite for one tier only may have no tier. "trouble/labels change" runs only the
# scenarios of the suite whose names contain "labels change".
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off GOTOOLCHAIN=auto
suite=${1:-} tier=${2:-}

if [ -z "$suite" ]; then
	exec go test -count=1 -timeout 80m ./e2e
fi
scenario=
case $suite in
*/*) scenario=/${suite#*/} suite=${suite%%/*} ;;
esac
pattern="^Test(?i:$suite)(?i:${tier:-standard|enterprise})?\$"
go test -c -o ../.bin/e2e.test ./e2e # linked once, for the list and for the run
cd e2e
found=$(../../.bin/e2e.test -test.list "$pattern")
if [ -z "$found" ]; then
	echo "e2e: there is no suite '$suite' for tier '${tier:-any}'; there are:" >&2
	../../.bin/e2e.test -test.list '^Test' | sed 's/^Test/  /' >&2
	exit 2
fi
exec ../../.bin/e2e.test -test.timeout 30m -test.v -test.run "$pattern$scenario"
