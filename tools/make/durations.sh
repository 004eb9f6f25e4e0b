#!/bin/sh
# Prints how long each end-to-end suite and what runs beside them took in a run of `make test`, in seconds, as a table;
# two figures are those of the tiers Standard and Enterprise. The groups of packages are sums, and what they contain overlaps.
#
#   tools/make/durations.sh [FILE]     FILE: the events of the run; without it those of the last one
set -eu
cd "$(dirname "$0")/../.."
events=${1:-.bin/test.json}
[ -r "$events" ] || { echo "durations: there is no $events: run make test first" >&2; exit 1; }

printf '| suite | seconds |\n|---|---|\n'
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
package == "tools/e2e" && test ~ /^TestBurst\/[a-z]+$/ { if (elapsed() > burst) burst = elapsed(); next }
package == "tools/e2e" && test != "" && test !~ /\// && test != "TestBurst" {
	if (elapsed() < 1) next
	sub(/^Test/, "", test)
	tier = sub(/Standard$/, "", test) ? 1 : sub(/Enterprise$/, "", test) ? 2 : 1
	suite[test]; took[test, tier] = sprintf("%d", elapsed() + 0.5)
}
test == "" && package != "tools/e2e" && elapsed() > 0 { group = package ~ /^modules/ ? "modules" : package == "tools/docs" ? package : "the rest of tools"; sum[group] += elapsed() }
END {
	if (burst) print "| Burst | " sprintf("%d", burst) " |"
	for (name in suite) print "| " name " | " took[name, 1] (took[name, 1] != "" && took[name, 2] != "" ? ", " : "") took[name, 2] " |"
	for (group in sum) print "| " group " | " sprintf("%d", sum[group]) " |"
	print "| `make test` | " sprintf("%d", last - first) " |"
}' "$events" | LC_ALL=C sort
