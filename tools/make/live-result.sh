#!/bin/sh
# Puts the result of a run into the table of docs/live-results.md, newest first.
#
#   tools/make/live-result.sh verify.json docs/live-results.md
set -eu
report=$1 page=$2
row=$(jq -r '
	([.assumptions[] | select(.verdict == "broken") | .assumption] + [.operator[] | select(.ran and (.passed | not)) | .name]) as $red |
	"| \(.day) | \(.tool | ltrimstr("karpenter-linode ")) | lke, \(.cluster.tier) | \(.cluster.region) | \(.cluster.k8s_version) | " +
	(if .audit.stopped != "" then "ended early: \(.audit.stopped)" elif ($red | length) > 0 then "red: \($red | join(", "))" else "green" end) +
	" | at most \(.plan.max_cost_dollars) |"' "$report")
awk -v row="$row" '
	/^\|---/ && !done { print; print row; done = 1; next }
	/^\| - \| - \|/ || /has not met a real account/ { next } # of before the first run
	{ print }' "$page" >"$page.new"
mv "$page.new" "$page"
