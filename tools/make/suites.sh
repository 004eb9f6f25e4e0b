#!/bin/sh
# Runs the tests of each module given, alone (GOWORK=off), as an importer would build it, and prints the
# events of `go test -json`. tools/make/test.sh calls it.
#
# On two processors the order decides how long this takes, because end-to-end suites wait for most of their time:
#
#   1. what computes; meanwhile the clusters of TestBurst come to rest, which takes them two minutes, and the pages of
#      docs/ are followed, where commands wait as well;
#   2. TestBurst, which counts what a hundred claims cost;
#   3. all other end-to-end suites, six clusters at once, and beside them, one package at a time, what starts
#      clusters as they do.
#
# What computes in virtual time, where being late changes nothing, has what processors the rest leaves from the beginning
# on: it has the lowest priority, so that TestBurst is alone on the machine beside it.
#
# Vet is the linter's (.golangci.yml).
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off GOTOOLCHAIN=auto
pages='/tools/docs(/|$)'
clusters='/tools/(localcluster|bench)(/|$)'
virtual='/modules/(linode|linodesim|lkeprobe|lkepool|instances|nodeclass)(/|$)'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'trap - TERM; kill 0' INT TERM # what runs in the background does not hear Ctrl-C

# packages PRIORITY AT-ONCE MODULE GREP...: tests those packages of a module that grep selects
packages() (
	priority=$1 at_once=$2
	cd "$3"
	shift 3
	all=$(go list ./...)
	chosen=$(echo "$all" | grep -v '/tools/e2e$' | grep -E "$@") || exit 0
	nice -n "$priority" go test -json -vet=off -p "$at_once" -timeout 40m $chosen
)

e2e() {
	(cd tools && go test -json -vet=off -count=1 -timeout 60m ./e2e "$@")
}

fail() { touch "$work/failed"; }

# each PRIORITY PATTERN: tests those packages of all modules, one at a time
each() {
	for module in $modules; do
		packages "$1" 1 "$module" -e "$2" || fail
	done
}

modules=$*
each 19 "$virtual" >"$work/virtual" &
(e2e -run '^TestBurst$' -args -begin "$work/begin" || fail) >"$work/burst" &
burst=$!
(packages 0 1 tools -e "$pages" || fail) >"$work/pages" &
docs=$!
for module in $modules; do
	packages 0 2 "$module" -v -e "$pages" -e "$clusters" -e "$virtual" || fail
done
wait $docs
touch "$work/begin"
wait $burst
cat "$work/pages" "$work/burst"

each 0 "$clusters" >"$work/clusters" &
e2e -skip '^TestBurst$' || fail
wait
cat "$work/clusters" "$work/virtual"
[ ! -e "$work/failed" ]
