#!/bin/sh
# Lints every module given, alone, the OpenAPI description and the workflows. The linters
# are built from their Go modules, pinned in tools/codegen/*.mod, the first time.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)

tools/make/tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
tools/make/tool.sh actionlint github.com/rhysd/actionlint/cmd/actionlint
failed=
for module in "$@"; do
	echo "lint: $module"
	(cd "$module" && GOWORK=off "$root/.bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || failed="$failed $module"
done
echo "lint: openapi/linode.yaml"
tools/codegen/lint.sh || failed="$failed openapi"
echo "lint: .github/workflows"
.bin/actionlint -color || failed="$failed workflows"
if [ -n "$failed" ]; then
	echo "lint: findings in$failed" >&2
	exit 1
fi
echo "lint: nothing found"
