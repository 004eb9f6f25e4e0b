#!/bin/sh
# Prints every 30 seconds, to standard error, that a step is still under way, until the script that started it ends or kills it.
#
#   tools/make/progress.sh LABEL [LOG PATTERN WHAT] &     WHAT: what the lines of LOG with PATTERN are, which it counts
#
# EVERY is the number of seconds where it is not 30.
set -eu
label=$1 every=${EVERY:-30} passed=0
while sleep 1 && kill -0 "$PPID" 2>/dev/null; do # short sleeps: one that outlives a kill holds the terminal's pipe
	passed=$((passed + 1))
	[ $((passed % every)) = 0 ] || continue
	counted=
	[ $# -lt 4 ] || counted=", $(grep -c "$3" "$2" 2>/dev/null || true) $4"
	echo "$label: ${passed}s$counted" >&2
done
