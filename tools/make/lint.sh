#!/bin/sh
# Lints every module given, alone, and the OpenAPI description. The linter is built
# from its Go module, pinned in tools/codegen/golangci-lint.mod, the first time.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)

if ! cmp -s tools/codegen/golangci-lint.mod .bin/golangci-lint.mod; then
	echo "lint: building golangci-lint (a few minutes the first time)"
	mkdir -p .bin
	(cd tools/codegen && GOWORK=off go build -modfile=golangci-lint.mod -o "$root/.bin/golangci-lint" \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
	cp tools/codegen/golangci-lint.mod .bin/
fi
failed=
for module in "$@"; do
	echo "lint: $module"
	(cd "$module" && GOWORK=off "$root/.bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || failed="$failed $module"
done
echo "lint: openapi/linode.yaml"
tools/codegen/lint.sh || failed="$failed openapi"
if [ -n "$failed" ]; then
	echo "lint: findings in$failed" >&2
	exit 1
fi
echo "lint: nothing found"
