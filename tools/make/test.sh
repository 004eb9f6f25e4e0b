#!/bin/sh
# Runs a circle of tests (tools/make/suites.sh) of the given modules. gotestsum reads the events of go test, and its last
# line counts the tests of all modules. It keeps the events in .bin/test.json, for tools/make/durations.sh.
#
#   CIRCLE=shared|deep PART=n/m tools/make/test.sh MODULE...
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)
circle=${CIRCLE:-shared} part=${PART:-1/1}
echo "$part" | grep -Eqx '[1-9][0-9]?/[1-9][0-9]?' && [ "${part%/*}" -le "${part#*/}" ] ||
	{ echo "test: PART=$part: it must be a part of all parts, such as 1/3" >&2; exit 2; }

echo "test: building the test runner"
(cd tools/codegen && GOWORK=off go build -o "$root/.bin/gotestsum" gotest.tools/gotestsum)
tools/make/browser.sh

export CIRCLE="$circle" PART="$part" AGAIN="$root/.bin/passed-alone" CPU="$root/.bin/test.cpu"
rm -f "$AGAIN" "$CPU"
code=0
.bin/gotestsum --format pkgname --hide-summary=skipped --jsonfile .bin/test.json --raw-command -- tools/make/suites.sh "$@" || code=$?
if [ -s "$AGAIN" ]; then
	sed 's|$| '"$(date +%F)"'|' "$AGAIN" >>.bin/flakes
	echo "test: these tests failed with other tests, and passed alone; how often in all runs here:"
	cut -d ' ' -f 1,2 .bin/flakes | sort | uniq -c | sort -rn
fi
[ "$circle" != shared ] || [ "$part" != 1/1 ] || tools/make/durations.sh -check || code=1
exit "$code"
