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
# A test that starts clusters and failed runs once more at the end, alone: on two processors a deadline in real time may
# pass because of what runs beside it. Its first failure stays in the events and in the file that AGAIN names; a second one
# fails the run, and so do more than three such tests, and every failure of a test that needs no cluster.
#
# Vet is the linter's (.golangci.yml).
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off GOTOOLCHAIN=auto
pages='/tools/docs(/|$)'
clusters='/tools/(localcluster|bench)(/|$)'
virtual='/modules/(linode|linodesim|lkeprobe|lkepool|instances|clusterapi|nodeclass)(/|$)'

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

# again FILE...: runs the tests that failed in these events once more, alone, and fails as described above
again() {
	grep -h '"Action":"fail"' "$@" >"$work/fails" || return 1 # it did not build, or did not begin
	sed -n 's|.*"Package":"\([^"]*\)".*"Test":"\([^"/]*\)".*|\1 \2|p' "$work/fails" | sort -u >"$work/again"
	sed -n 's|.*"Package":"\([^"]*\)".*|\1|p' "$work/fails" | sort -u >"$work/packages"
	cut -d ' ' -f 1 "$work/again" | sort -u | cmp -s - "$work/packages" || return 1 # a package failed, and none of its tests
	[ "$(wc -l <"$work/again")" -le 3 ] || return 1
	while read -r package test; do
		(cd tools && go test -json -vet=off -count=1 -timeout 30m -run "^$test\$" "$package") || return 1
		echo "$test (${package##*/karpenter-linode/}) failed beside others and passed alone" >>"$AGAIN"
	done <"$work/again"
}

# each PRIORITY PATTERN: tests those packages of all modules, one at a time
each() {
	for module in $modules; do
		packages "$1" 1 "$module" -e "$2" || fail
	done
}

modules=$*
AGAIN=${AGAIN:-$work/passed-alone}
each 19 "$virtual" >"$work/virtual" &
(e2e -run '^TestBurst$' -args -begin "$work/begin" || touch "$work/burst-failed") >"$work/burst" &
burst=$!
(packages 0 1 tools -e "$pages" || touch "$work/pages-failed") >"$work/pages" &
docs=$!
for module in $modules; do
	packages 0 2 "$module" -v -e "$pages" -e "$clusters" -e "$virtual" || fail
done
wait $docs
touch "$work/begin"
wait $burst
cat "$work/pages" "$work/burst"

(packages 0 1 tools -e "$clusters" || touch "$work/clusters-failed") >"$work/clusters" &
(e2e -skip '^TestBurst$' || touch "$work/e2e-failed") | tee "$work/e2e"
wait
cat "$work/clusters" "$work/virtual"
[ ! -e "$work/failed" ]
failed=
for part in burst pages clusters e2e; do
	[ ! -e "$work/$part-failed" ] || failed="$failed $work/$part"
done
[ -z "$failed" ] || again $failed
