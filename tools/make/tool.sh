#!/bin/sh
# Builds a tool from its Go module into .bin/, unless it was built from the same go.mod already.
#
#   tools/make/tool.sh NAME PACKAGE
#
# The module is tools/codegen/NAME.mod. Each large tool has its own module, so that its
# dependencies do not decide the versions of another tool's dependencies.
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
