#!/bin/sh
# Lints each given module without go.work, the OpenAPI description and the workflows. Unless it is called for one module, it also looks for
# functions that no program and no test of the repository reaches. This needs all modules, because the only caller of a library's function
# may be in another module. It takes a minute and a half on two idle processors, and 6 GiB of memory. `make lint-files` calls the script
# without a module. The first time the linters are built from their Go modules, which tools/codegen/*.mod pin.
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
if [ $# -ne 1 ]; then
	echo "lint: functions that nothing reaches"
	tools/make/tool.sh deadcode golang.org/x/tools/cmd/deadcode
	unreachable=$(.bin/deadcode -test -filter '^github.com/karpenter-linode/' $(go list -m -f '{{.Dir}}/...') &&
		cd tools/image && GOWORK=off ../../.bin/deadcode -test ./...) || failed="$failed deadcode"
	if [ -n "$unreachable" ]; then
		echo "$unreachable" >&2
		failed="$failed deadcode"
	fi
fi
echo "lint: openapi/linode.yaml"
tools/codegen/lint.sh || failed="$failed openapi"
echo "lint: .github/workflows"
.bin/actionlint -color || failed="$failed workflows"
if [ -n "$failed" ]; then
	echo "lint: findings in$failed" >&2
	exit 1
fi
echo "lint: nothing found"
