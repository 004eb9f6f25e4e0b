#!/bin/sh
# Builds a tool from its Go module into .bin/, unless it was built from the same one already.
#
#   tools/make/tool.sh NAME PACKAGE
#
# The module is tools/codegen/NAME.mod: large tools have one each, so that their dependencies
# decide nothing about those of the others.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)
name=$1 package=$2

mkdir -p .bin
if [ -x ".bin/$name" ] && cmp -s "tools/codegen/$name.mod" ".bin/$name.mod"; then
	exit 0
fi
echo "tool: building $name (minutes the first time)"
(cd tools/codegen && GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -modfile="$name.mod" -o "$root/.bin/$name" "$package")
cp "tools/codegen/$name.mod" ".bin/$name.mod"
