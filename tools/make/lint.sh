#!/bin/sh
# Lints every module given, alone, the OpenAPI description and the workflows, and looks for functions of a module that neither its programs
# nor its tests reach. The linters are built from their Go modules, pinned in tools/codegen/*.mod, the first time.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)

tools/make/tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
tools/make/tool.sh deadcode golang.org/x/tools/cmd/deadcode
tools/make/tool.sh actionlint github.com/rhysd/actionlint/cmd/actionlint
failed=
for module in "$@"; do
	echo "lint: $module"
	(cd "$module" && GOWORK=off "$root/.bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || failed="$failed $module"
	unreachable=$(cd "$module" && GOWORK=off "$root/.bin/deadcode" -test ./...) || failed="$failed $module"
	if [ -n "$unreachable" ]; then
		echo "$unreachable" | sed "s|^|$module/|" >&2
		failed="$failed $module"
	fi
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
