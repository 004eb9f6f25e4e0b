#!/bin/sh
# Runs a circle of tests of the modules given, each module alone (GOWORK=off), as an importer would build it, and prints the
# events of `go test -json`. tools/make/test.sh calls it.
#
#   CIRCLE=shared|deep PART=n/m tools/make/suites.sh MODULE...
#
# The shared circle has what computes, 2,000 schedules of each engine, the end-to-end groups (TestGroup...), and README and the tour
# followed. The deep circle has all tests, whole, and the end-to-end suites, which repeat the groups' scenarios with the settings and
# waits of a user. docs/testing.md says what each circle finds.
#
# PART=2/3 runs the second of three parts. A part has whole packages and whole suites; the parts together are the circle.
#
# On two processors the order decides how long this takes, because end-to-end tests wait for most of their time: what waits
# runs from the beginning on, and what computes runs beside it at a lower priority. Of the groups the longest begin first. Two streams
# compute: the modules of tools and of the operator, whose tests wait for API servers and other programs, and beside them all others, so
# that both processors have work after the last group, too. Only TestBurst, which counts what a hundred claims cost, runs alone, before
# the other suites.
#
# In the deep circle a test that starts clusters and failed runs once more at the end, alone: on two processors a deadline in real
# time may pass because of what runs beside it. Its first failure stays in the events and in the file that AGAIN names; a second one
# fails the run, and so do more than three such tests, and every failure of a test that needs no cluster. In the shared circle a
# failure is a failure.
#
# Vet is the linter's (.golangci.yml).
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off GOTOOLCHAIN=auto
# The compiler, the linker and test programs live shortly: Go collects their garbage a quarter as often. Programs of a cluster have their
# own setting (tools/localcluster/plane), and the operator has Go's default, as an image of it.
export GOGC="${GOGC:-400}"
root=$(pwd)
circle=${CIRCLE:-deep} part=${PART:-1/1}
number=${part%/*} parts=${part#*/}
pages='/tools/docs$'
clusters='/tools/(localcluster|bench)(/|$)'
# These have shorter tests in the shared circle.
shorter='(/modules/(claims|linode|linodesim|lkeprobe|lkepool|instances|clusterapi|advisor/whatif)(/|$)|/tools/site$)'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'trap - TERM; kill 0' INT TERM # what runs in the background does not hear Ctrl-C

fail() { echo "$*" >>"$work/failed"; }

# counted runs a test program and adds its processor time, with that of all programs that it started, and its name, or COUNTED, to the
# file that CPU names.
cat >"$work/counted" <<'SH'
#!/bin/sh
code=0
"$@" || code=$?
times >"$CPU.$$" # not in a pipe, whose shell has no children
echo "$(tail -1 "$CPU.$$") ${COUNTED:-${1##*/}}" >>"$CPU"
rm -f "$CPU.$$"
exit "$code"
SH
chmod +x "$work/counted"
export CPU="${CPU:-$work/cpu}"

# chosen reads names, one a line, and prints every one that is of this part.
chosen() { awk -v n="$number" -v m="$parts" 'NR % m == n % m'; }

# listed MODULE prints the packages of a module.
listed() {
	list=$work/list-$(echo "$1" | tr / -)
	if [ ! -e "$list" ]; then # whole at once: two streams may ask for one module
		new=$(mktemp "$work/new.XXXXXX")
		(cd "$1" && go list ./...) >"$new" && mv "$new" "$list"
	fi
	cat "$list"
}

# packages PRIORITY AT-ONCE FLAGS MODULE GREP...: tests those packages of a module that grep selects and that are of this part
packages() (
	priority=$1 at_once=$2 flags=$3
	all=$(listed "$4")
	cd "$4"
	shift 4
	list=$(echo "$all" | grep -v '/tools/e2e$' | grep -E "$@" | chosen || true)
	[ -n "$list" ] || exit 0
	nice -n "$priority" go test -json -vet=off -exec "$work/counted" -p "$at_once" -timeout 40m $flags $list
)

# e2e TESTS FLAGS...: runs the end-to-end tests named, as a pattern
e2e() {
	tests=$1
	shift
	(cd tools && go test -json -vet=off -exec "$work/counted" -count=1 -timeout 100m ./e2e -run "^($tests)\$" "$@")
}

# names PATTERN prints the end-to-end tests with such a name that are of this part, as a pattern.
names() {
	sed -n "s|^func \(Test[A-Za-z]*\)(t \*testing.T).*|\1|p" tools/e2e/*_test.go | grep -E "$@" | sort | chosen | paste -s -d '|'
}

# groups PATTERN runs those end-to-end tests side by side, each in a process of its own, the longest of docs/testing.md first. A scenario
# that waits to see that nothing happens waits for as long as core's own windows, and not longer.
# All groups wait for the linker, so the program has no data for debuggers.
groups() {
	(cd tools && go test -c -vet=off -o "$work/e2e.test" -ldflags='-s -w' ./e2e) || return 1
	echo "$1" | tr '|' '\n' | while read -r group; do
		echo "$(sed -n "s/^| .${group#Test}. .* \([0-9]*\) |$/\1/p" docs/testing.md) $group"
	done | sort -rn | awk '{ print $NF }' >"$work/groups"
	code=0
	(cd tools/e2e && xargs -P 6 -I NAME "$work/group" NAME <"$work/groups") || code=1
	cat "$work"/e2e-*
	return $code
}

# A group's events go to a file: lines of two processes would mix.
cat >"$work/group" <<SH
#!/bin/sh
COUNTED=\$1 exec go tool test2json -t -p github.com/karpenter-linode/karpenter-linode/tools/e2e "$work/counted" "$work/e2e.test" \\
	-test.v=test2json -test.paniconexit0 -test.timeout 60m -test.run "^\$1\\$" -rest 30s >"$work/e2e-\$1"
SH
chmod +x "$work/group"

# computes MODULE... tests what needs no cluster in these modules.
computes() {
	short=
	[ "$circle" = deep ] || short=-short
	for module; do
		packages 10 2 "$short" "$module" "$shorter" || fail "$module"
		[ "$circle" = deep ] || schedules "$module" || fail "$module schedules"
		at_once=2
		[ "$module" != modules/operator ] || at_once=4 # API servers that wait, and in the shared circle nothing else runs by then
		packages 10 "$at_once" '' "$module" -v -e "$pages" -e "$clusters" -e "$shorter" || fail "$module"
		[ "$circle" = deep ] || packages 10 2 -short "$module" "$clusters" || fail "$module"
	done
}

# schedules MODULE runs 2,000 random schedules of an engine, whose short tests have fewer.
schedules() (
	engines=$(listed "$1" | grep -E '/(lkepool|instances|clusterapi)/internal/core$' | chosen || true)
	[ -n "$engines" ] || exit 0
	cd "$1"
	nice -n 10 go test -json -vet=off -exec "$work/counted" -run '^TestSchedules$' $engines -schedules 2000
)

# followed FLAGS...: tests docs/ and follows its pages
followed() (cd tools && go test -json -vet=off -exec "$work/counted" -count=1 -timeout 40m "$@" ./docs)

# again FILE...: runs the tests that failed in these events once more, alone, and fails as described above
again() {
	grep -h '"Action":"fail"' "$@" >"$work/fails" || return 1 # it did not build, or did not begin
	sed -n 's|.*"Package":"\([^"]*\)".*"Test":"\([^"/]*\)".*|\1 \2|p' "$work/fails" | sort -u >"$work/again"
	sed -n 's|.*"Package":"\([^"]*\)".*|\1|p' "$work/fails" | sort -u >"$work/packages"
	cut -d ' ' -f 1 "$work/again" | sort -u | cmp -s - "$work/packages" || return 1 # a package failed, and none of its tests
	[ "$(wc -l <"$work/again")" -le 3 ] || return 1
	while read -r package test; do
		(cd tools && go test -json -vet=off -count=1 -timeout 30m -run "^$test\$" "$package") || return 1
		echo "$test (${package##*/karpenter-linode/})" >>"$AGAIN"
	done <"$work/again"
}

modules=$*
complete=
[ "$part" != 1/1 ] || complete=-complete # neither the groups nor a part of the suites need all rights of the operator
# Some libraries alone: their tests, and no clusters.
case " $modules " in *" tools "*) libraries= ;; *) libraries=true ;; esac
AGAIN=${AGAIN:-$work/passed-alone}
if [ "$circle" = shared ]; then
	[ -n "$libraries" ] && { computes $modules; [ ! -e "$work/failed" ]; exit; }
	chosen_groups=$(names '^TestGroup')
	{ [ -z "$chosen_groups" ] || groups "$chosen_groups" || fail e2e; } >"$work/e2e" &
	{ [ "$number" != "$parts" ] || followed -skip '^TestPagesCanBeFollowed$/^(break|lke|pages)$' || fail pages; } >"$work/pages" &
	others=
	for module in $modules; do
		case $module in tools | modules/operator) ;; *) others="$others $module" ;; esac
	done
	computes $others >"$work/computed" &
	computes tools $(echo "$modules" | tr ' ' '\n' | grep '^modules/operator$' || true)
	wait
	cat "$work/computed" "$work/e2e" "$work/pages"
	[ ! -e "$work/failed" ]
	exit
fi

if [ -n "$libraries" ]; then
	computes $modules
	[ ! -e "$work/failed" ]
	exit
fi
if [ -n "$(names '^TestBurst$')" ]; then
	e2e TestBurst >"$work/burst" || touch "$work/burst-failed"
	cat "$work/burst"
fi
computes $modules >"$work/computed" &
{
	packages 0 1 '' tools "$clusters" || touch "$work/clusters-failed"
	[ "$number" != "$parts" ] || followed || touch "$work/pages-failed"
} >"$work/clusters" &
suites=$(names -v '^Test(Main|Burst|Matrix|Group.*)$')
[ -z "$suites" ] || { e2e "$suites" -args $complete || touch "$work/e2e-failed"; } | tee "$work/e2e"
wait
cat "$work/clusters" "$work/computed"
[ ! -e "$work/failed" ]
failed=
for suite in burst e2e clusters; do
	[ ! -e "$work/$suite-failed" ] || failed="$failed $work/$suite"
done
[ ! -e "$work/pages-failed" ] || failed="$failed $work/clusters"
[ -z "$failed" ] || again $failed
