#!/bin/sh
# Looks in the Go vulnerability database for known vulnerabilities that the programs and the
# packages of each given module can reach.
#
#   tools/make/vulncheck.sh MODULE...
#
# VULNDB is another database: https://..., or file:///... for a copy. The vulnerabilities of the
# standard library count, too. Its version is the version of the Go that runs the script.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)
db=${VULNDB:-https://vuln.go.dev}

tools/make/tool.sh govulncheck golang.org/x/vuln/cmd/govulncheck
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=
for module in "$@"; do
	echo "vulncheck: $module"
	status=0
	(cd "$module" && GOWORK=off "$root/.bin/govulncheck" -db "$db" -show version ./...) >"$log" 2>&1 || status=$?
	case $status in
	0) ;;
	3) # a finding
		cat "$log" >&2
		failed="$failed $module"
		;;
	*)
		cat "$log" >&2
		echo "vulncheck: $module was not checked: the database $db could not be read, or the module does not build." >&2
		echo "vulncheck: without a network, set VULNDB=file:///path to a copy of the database" >&2
		exit 2
		;;
	esac
done
if [ -n "$failed" ]; then
	echo "vulncheck: known vulnerabilities in$failed" >&2
	exit 1
fi
echo "vulncheck: nothing known in $# modules"
