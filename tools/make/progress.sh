#!/bin/sh
# Prints a line to standard error every 30 seconds while a step runs, until the script that started progress.sh ends or kills it.
#
#   tools/make/progress.sh LABEL [LOG PATTERN WHAT] &     also counts the lines of LOG that match PATTERN; WHAT names these lines
#
# EVERY is another number of seconds than 30.
set -eu
label=$1 every=${EVERY:-30} passed=0
while sleep 1 && kill -0 "$PPID" 2>/dev/null; do # short sleeps: one that outlives a kill holds the terminal's pipe
	passed=$((passed + 1))
	[ $((passed % every)) = 0 ] || continue
	counted=
	[ $# -lt 4 ] || counted=", $(grep -c "$3" "$2" 2>/dev/null || true) $4"
	echo "$label: ${passed}s$counted" >&2
done
