#!/bin/sh
# Compiles the program that makes releases, which takes minutes the first time, and runs it.
#
#   tools/make/release.sh ARGUMENTS
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../../tools"
echo "release: compiling tools/release (minutes the first time)"
make/progress.sh "release: compiling" &
ticker=$!
status=0
GOWORK=off go build -o ../.bin/releaser ./release/cmd/release || status=$?
kill "$ticker" 2>/dev/null || true
[ "$status" = 0 ] || exit "$status"
PATH="$(GOWORK=off go env GOROOT)/bin:$PATH" # what tools/go.mod names, also where the program works in an empty project
export PATH
exec ../.bin/releaser "$@"
