#!/bin/sh
# Prints how long each part of the last run of `make test` or `make test-all` took, in seconds, or writes it into docs/testing.md.
#
#   tools/make/durations.sh            prints a table
#   tools/make/durations.sh -write     writes the seconds of each row that docs/testing.md has, and with a run of `make test` the total
#   tools/make/durations.sh -check     after `make test`: fails in CI on two processors if the tests took more than 1.1 times the
#                                      processor time in docs/testing.md
#
# EVENTS=.bin/test.json has the events of the run. .bin/test.cpu has the processor time of each test program with its child processes.
set -eu
cd "$(dirname "$0")/../.."
events=${EVENTS:-.bin/test.json} page=docs/testing.md
[ -r "$events" ] || { echo "durations: there is no $events: run make test first" >&2; exit 1; }

# computed prints the seconds of processor time. A line of .bin/test.cpu has the user and the system time, such as 1m2.5s 0m3.1s.
computed() {
	awk '{ for (i = 1; i <= 2; i++) { split($i, part, "m"); sub("s", "", part[2]); sum += part[1] * 60 + part[2] } } END { printf "%d\n", sum }' .bin/test.cpu
}

# measured prints NAME SECONDS for each end-to-end test, each group of packages, and the whole run.
measured() {
	awk '
function field(name) { return match($0, "\"" name "\":\"[^\"]*\"") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) : "" }
function elapsed() { return match($0, "\"Elapsed\":[0-9.]+") ? substr($0, RSTART + 10, RLENGTH - 10) + 0 : 0 }
{
	clock = field("Time"); package = field("Package"); test = field("Test"); action = field("Action")
	sub(/.*\/karpenter-linode\//, "", package)
	now = substr(clock, 12, 2) * 3600 + substr(clock, 15, 2) * 60 + substr(clock, 18, 2)
	day = substr(clock, 9, 2)
	if (clock == "") next
	if (first == "") { first = now; today = day }
	if (day != today) now += 86400
	if (now < first) first = now
	if (now > last) last = now
}
action !~ /^(pass|fail)$/ { next }
package == "tools/e2e" && test ~ /^Test[A-Za-z]+$/ { sub(/^Test/, "", test); if (elapsed() >= 1) print test, int(elapsed() + 0.5) }
test == "" && package != "tools/e2e" && elapsed() > 0 {
	split(package, path, "/")
	sum[path[1] == "modules" ? "modules/" path[2] : package == "tools/docs" ? package : package ~ /^tools\/(localcluster|bench)/ ? "tools/localcluster,tools/bench" : "tools"] += elapsed()
}
END {
	for (group in sum) print group, int(sum[group] + 0.5)
	print "all", last - first
}' "$events" | LC_ALL=C sort
}

case ${1:-} in
-write)
	measured >.bin/durations
	total=
	[ "${CIRCLE:-shared}" != shared ] || total=$(computed)
	awk -F ' [|] ' -v OFS=' | ' -v total="$total" '
NR == FNR { split($0, pair, " "); took[pair[1]] = pair[2]; next }
/^[|] `/ { name = $1; gsub(/[|` ]/, "", name); if (name in took) $NF = took[name] " |" }
/^[|] all of `make test`/ && total != "" { $(NF - 1) = total " s computed"; $NF = took["all"] " |" }
{ print }' .bin/durations "$page" >.bin/testing.md
	mv .bin/testing.md "$page"
	;;
-check)
	now=$(computed) then=$(sed -n 's/^| all of `make test` .* \([0-9]*\) s computed .*/\1/p' "$page")
	[ -n "$then" ] || { echo "durations: $page has no row 'all of \`make test\`'" >&2; exit 1; }
	echo "test: the tests took $now s of processor time; $page has $then s"
	[ "${CI:-}" = true ] && [ "$(getconf _NPROCESSORS_ONLN)" = 2 ] || exit 0
	if [ $((now * 10)) -gt $((then * 11)) ]; then
		echo "test: more than 1.1 times as much: make the tests faster, or write the table again with tools/make/durations.sh -write" >&2
		exit 1
	fi
	;;
'')
	printf '| part | seconds |\n|---|---|\n'
	measured | sed 's/\(.*\) \(.*\)/| \1 | \2 |/'
	;;
*)
	echo "durations: $1: it must be -write or -check" >&2
	exit 2
	;;
esac
