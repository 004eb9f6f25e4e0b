#!/bin/sh
# Writes docs/nightly.md, the findings of the deep tests in a row for each night. .github/workflows/nightly.yml calls it through the
# Makefile.
#
#   tools/make/nightly.sh -record KIND NAME OUTCOME      prints the record of a job. OUTCOME is success, failure or cancelled. A record of
#                                                        the kind test-all has the failed tests, from .bin/test.json and .bin/passed-alone
#   tools/make/nightly.sh -page DATE COMMIT FILE...      adds a row made of records at the top of the page's table, which keeps 30 rows
#
# EVENTS, AGAIN and PAGE replace .bin/test.json, .bin/passed-alone and docs/nightly.md.
set -eu
cd "$(dirname "$0")/../.."
events=${EVENTS:-.bin/test.json} again=${AGAIN:-.bin/passed-alone} page=${PAGE:-docs/nightly.md}
kinds='test-all matrix soak fuzz race bench vulncheck'
tab=$(printf '\t')

# failed prints each test of the last run that failed, and whether it passed alone afterwards. It leaves out subtests.
failed() {
	[ -r "$events" ] || return 0
	touch "$again"
	awk '
function field(name) { return match($0, "\"" name "\":\"[^\"]*\"") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) : "" }
FILENAME != ARGV[2] { alone[$1]; next }
field("Action") == "fail" {
	test = field("Test"); package = field("Package")
	sub(/.*\/karpenter-linode\//, "", package)
	if (test ~ /\//) next
	if (test == "") { packages[package]; next }
	seen[package]
	names[test " of " package (test in alone ? " failed, and passed alone" : " failed")]
}
END {
	for (name in names) print name
	for (package in packages) if (!(package in seen)) print package " failed without a test"
}' "$again" "$events" | sort
}

case ${1:-} in
-record)
	kind=$2 name=$3 outcome=$4 tests=0
	case " $kinds " in *" $kind "*) ;; *) echo "nightly: $kind must be one of $kinds" >&2; exit 2 ;; esac
	case $outcome in success | failure | cancelled) ;; *) echo "nightly: $outcome must be success, failure or cancelled" >&2; exit 2 ;; esac
	if [ "$kind" = test-all ] && [ -r "$events" ]; then
		tests=$(grep -cE '"Action":"pass".*"Test":"[^"/]+"' "$events" || true)
	fi
	printf 'job\t%s\t%s\t%s\t%s\n' "$kind" "$name" "$outcome" "$tests"
	if [ "$kind" = test-all ]; then
		failed | sed "s|^|found$tab$kind$tab$name$tab|"
	elif [ "$outcome" != success ]; then
		printf 'found\t%s\t%s\t%s\n' "$kind" "$name" "$kind${name:+ $name}: $outcome"
	fi
	;;
-page)
	date=$2 commit=$3
	shift 3
	[ $# -gt 0 ] || { echo "nightly: there is no record" >&2; exit 2; }
	row=$(awk -F '\t' -v kinds="$kinds" -v date="$date" -v commit="$commit" '
$1 == "job" { all[$2]++; tests[$2] += $5; if ($4 == "success") passed[$2]++; else unpassed[$2 " " $3] = $2 " " $3 " ended as " $4 }
$1 == "found" { gsub(/[|`<>]/, "", $4); if (!($4 in known)) { known[$4]; found = found (found == "" ? "" : "; ") $4 }; delete unpassed[$2 " " $3] }
END {
	printf "| %s | `%s` |", date, substr(commit, 1, 8)
	split(kinds, order, " ")
	for (i = 1; i in order; i++) {
		kind = order[i]
		if (!(kind in all)) { printf " - |"; continue }
		printf " %d of %d%s |", passed[kind], all[kind], tests[kind] ? ", " tests[kind] " tests" : ""
	}
	for (job in unpassed) found = found (found == "" ? "" : "; ") unpassed[job]
	printf " %s |\n", found == "" ? "nothing" : found
}' "$@")
	awk -v row="$row" '
BEGIN { kept = 30 }
/^\|---/ { print; print row; nights = 1; next }
nights && /^\| / { if (++nights > kept) next }
nights && /^No night/ { next }
{ print }' "$page" >"$page.new"
	grep -qxF "$row" "$page.new" || { rm "$page.new"; echo "nightly: $page has no table" >&2; exit 1; }
	mv "$page.new" "$page"
	;;
*)
	echo "nightly: ${1:-}: it must be -record or -page" >&2
	exit 2
	;;
esac
