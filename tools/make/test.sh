#!/bin/sh
# Runs all tests of the modules given (tools/make/suites.sh) and ends in one line that counts them together:
# gotestsum reads go test's own stream. It keeps the stream in .bin/test.json, for tools/make/durations.sh.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)

echo "test: building the test runner"
(cd tools/codegen && GOWORK=off go build -o "$root/.bin/gotestsum" gotest.tools/gotestsum)

tools/make/browser.sh

export AGAIN="$root/.bin/passed-alone"
rm -f "$AGAIN"
code=0
.bin/gotestsum --format pkgname --hide-summary=skipped --jsonfile .bin/test.json --raw-command -- tools/make/suites.sh "$@" || code=$?
[ ! -s "$AGAIN" ] || { echo "test: run again, and to be looked at:"; cat "$AGAIN"; }
exit "$code"
