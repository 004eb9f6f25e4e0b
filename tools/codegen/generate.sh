#!/bin/sh
# Generates code from openapi/linode.yaml and from the Go types of the API objects.
#
#   tools/codegen/generate.sh [part ...]
#
# Parts: api (modules/linode/api), server (modules/linodesim/internal/server). Without a part: all of them.
# Running it twice changes nothing: outputs depend on the inputs and on the versions in go.mod alone.
set -eu

cd "$(dirname "$0")"
export GOWORK=off GOFLAGS="${GOFLAGS:-} -mod=readonly" CGO_ENABLED=0
spec=../../openapi/linode.yaml

api() {
	go tool oapi-codegen -config api-types.yaml "$spec"
	go tool oapi-codegen -config api-client.yaml "$spec"
	go run ./operations "$spec" ../../modules/linode/api/operations.gen.go ../../modules/linode/api/examples_gen_test.go
}

server() {
	mkdir -p ../../modules/linodesim/internal/server
	go tool oapi-codegen -config server.yaml "$spec"
}

[ $# -gt 0 ] || set -- api server
for part in "$@"; do
	case "$part" in
	api | server) echo "generate: $part" && "$part" ;;
	*) echo "generate: there is no part '$part'; parts: api, server" >&2 && exit 2 ;;
	esac
done
