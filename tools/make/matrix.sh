#!/bin/sh
# Builds the control plane of each given release of Kubernetes and runs TestMatrix on it. The last lines have the result of each release.
#
#   tools/make/matrix.sh 1.31.14 1.37.2
set -eu
cd "$(dirname "$0")/../.."
export GOTOOLCHAIN=auto GOWORK=off
results= code=0
for release; do
	export KUBERNETES="$release"
	echo "matrix: Kubernetes $release"
	result=passed
	{ tools/make/build.sh -with machine && tools/make/e2e.sh matrix; } || result=FAILED code=1
	results="$results
matrix: Kubernetes $release: $result on $(date +%F)"
done
echo "$results"
exit "$code"
