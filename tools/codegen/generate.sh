#!/bin/sh
# Generates code from openapi/linode.yaml and from the Go types of the API objects.
#
#   tools/codegen/generate.sh [part ...]
#
# Parts: api (modules/linode and the simulator's table of handlers), description (as the simulator embeds it). Without a part: all of them.
# Running it twice changes nothing: outputs depend on the inputs and on the versions in go.mod alone.
set -eu

cd "$(dirname "$0")"
export GOWORK=off GOTOOLCHAIN=auto GOFLAGS="${GOFLAGS:-} -mod=readonly" CGO_ENABLED=0
spec=../../openapi/linode.yaml

api() {
	go tool oapi-codegen -config api-types.yaml "$spec"
	go run ./operations "$spec" ../../modules
}

description() {
	mkdir -p ../../modules/linodesim/internal/description
	go tool oapi-codegen -config description.yaml "$spec"
}

[ $# -gt 0 ] || set -- api description
for part in "$@"; do
	case "$part" in
	api | description) echo "generate: $part" && "$part" ;;
	*) echo "generate: there is no part '$part'; parts: api, description" >&2 && exit 2 ;;
	esac
done
