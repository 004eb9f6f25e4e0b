#!/bin/sh
# Runs the checks that need no cluster. First the tests of package prose, which take seconds. Then, for each given module without go.work,
# the short tests, and the linter if a Go file of the module differs from the commit in BASE_REF (default HEAD). Vet is part of the linter.
# All end-to-end suites need a cluster, so package e2e is vetted, and its tests are not linked. The first run compiles everything, which
# takes minutes; every half minute a line shows the progress.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)

echo "check: formatting, lines and words"
(cd tools && GOWORK=off go test -vet=off -count=1 ./prose) >.bin/check.log 2>&1 || {
	grep -v -e '^ok ' -e '^FAIL' -e '^--- FAIL' -e '^ *--- FAIL' .bin/check.log >&2
	echo "check: failed in tools/prose" >&2
	exit 1
}
echo "check: the short tests of $# modules; the first time all of it is compiled, which takes minutes"
failed=
# These packages test files outside of their module. Go would take their results from its cache although such a file has changed.
readers='/tools/(boundaries|charttest|ci|docs|docs/reference|grafana|mutants|nodeimage|release|site)$'
changed=$(git diff --name-only "${BASE_REF:-HEAD}" && git ls-files --others --exclude-standard)
for module in "$@"; do
	echo "check: $module"
	tools/make/progress.sh "check: $module" .bin/check.log '^ok ' 'packages tested' &
	ticker=$!
	(
		cd "$module" && export GOWORK=off && packages=$(go list ./...) &&
			suites=$(echo "$packages" | grep '/tools/e2e$' || true) &&
			{ [ -z "$suites" ] || go vet "$suites"; } &&
			go test -short -vet=off $(echo "$packages" | grep -vE -e '/tools/(e2e|prose)$' -e "$readers") &&
			fresh=$(echo "$packages" | grep -E "$readers" || true) &&
			{ [ -z "$fresh" ] || go test -short -vet=off -count=1 $fresh; }
	) >"$root/.bin/check.log" 2>&1 || {
		grep -v -e '^ok ' -e 'no test files' .bin/check.log >&2
		failed="$failed $module"
	}
	kill "$ticker" 2>/dev/null || true
	if echo "$changed" | grep -q "^$module/.*\.go$"; then
		echo "lint: $module"
		tools/make/tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
		(cd "$module" && GOWORK=off "$root/.bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || failed="$failed $module"
	fi
done
if [ -n "$failed" ]; then
	echo "check: failed in$failed" >&2
	exit 1
fi
echo "check: ok"
