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

# The end-to-end suites come last and alone: they mostly wait, eight clusters at once, and what
# they wait for is late when a compiler or a benchmark has the processors.
run_all='
failed=0
export GOWORK=off
for module in "$@"; do
	(cd "$module" && go test -json -p 2 -timeout 40m $(go list ./... | grep -v /tools/e2e$)) || failed=1
done
(cd tools && go test -json -timeout 60m ./e2e) || failed=1
exit $failed
'
exec .bin/gotestsum --format pkgname --hide-summary=skipped --raw-command -- sh -c "$run_all" test "$@"
