#!/bin/sh
# Runs what needs no cluster: first how files are written, which takes seconds, then the short tests of each module given, alone, and the
# linter over those modules that differ from the commit in BASE_REF (HEAD without it). Vet is part of the linter. The end-to-end suites
# need a cluster, all of them: they are checked and not linked. The first run compiles everything, which takes minutes: every half
# minute a line shows how far it is.
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
# What these test lies in other modules, and Go takes a result from its cache although a file outside of the module has changed.
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
