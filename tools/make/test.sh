#!/bin/sh
# Runs the tests of each module given, alone (GOWORK=off), as an importer would
# build it, and ends in one line that counts all of them together.
# gotestsum reads go test's own stream, so that one summary covers every module.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)

echo "test: building the test runner"
(cd tools/codegen && GOWORK=off go build -o "$root/.bin/gotestsum" gotest.tools/gotestsum)

tools/make/browser.sh

run_all='
failed=0
for module in "$@"; do
	(cd "$module" && GOWORK=off go test -json -p 2 -timeout 80m ./...) || failed=1
done
exit $failed
'
exec .bin/gotestsum --format pkgname --hide-summary=skipped --raw-command -- sh -c "$run_all" test "$@"
