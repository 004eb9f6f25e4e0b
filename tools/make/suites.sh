#!/bin/sh
# Runs the tests of each module given, alone (GOWORK=off), as an importer would build it, and prints the
# events of `go test -json`. tools/make/test.sh calls it.
#
# On two processors the order decides how long this takes, because end-to-end suites wait for most of their time:
#
#   1. what computes; meanwhile the clusters of TestBurst come to rest, which takes them two minutes;
#   2. TestBurst, which counts what a hundred claims cost, alone on the machine;
#   3. all other end-to-end suites, eight clusters at once. Beside them, with a lower priority, runs what waits as
#      they do (clusters of other packages) and what computes in virtual time, where being late changes nothing.
#
# Vet is the linter's (.golangci.yml).
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off
waiting='/tools/(docs|localcluster|bench)(/|$)'
virtual='/modules/(linode|linodesim|lkepool|instances|nodeclass)(/|$)'

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

(e2e -run '^TestBurst$' -args -begin "$work/begin" || fail) >"$work/burst" &
for module in "$@"; do
	packages 0 3 "$module" -v -e "$waiting" -e "$virtual" || fail
done
touch "$work/begin"
wait
cat "$work/burst"

for kind in waiting virtual; do
	case $kind in
	waiting) pattern=$waiting priority=5 at_once=2 ;;
	virtual) pattern=$virtual priority=19 at_once=1 ;;
	esac
	for module in "$@"; do
		packages $priority $at_once "$module" -e "$pattern" || fail
	done >"$work/$kind" &
done
e2e -skip '^TestBurst$' || fail
wait
cat "$work/waiting" "$work/virtual"
[ ! -e "$work/failed" ]
