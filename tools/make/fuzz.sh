#!/bin/sh
# Runs every fuzz target of the given modules for TIME, one after the other. It goes on after a target that fails. A failing input stays in
# the target's testdata/fuzz, and from then on `go test` runs it, too: commit it with the change that corrects the defect.
#
#   TIME=1m tools/make/fuzz.sh MODULE...
#   LIST=true tools/make/fuzz.sh MODULE...    prints the targets: folder and name
set -eu
cd "$(dirname "$0")/../.."
export GOWORK=off GOTOOLCHAIN=auto
root=$(pwd) code=0 found=0

targets() {
	grep -roE --include='*_test.go' '^func Fuzz[A-Z][A-Za-z0-9_]*' "$1" | sed -E 's|^(.*)/[^/]*:func (Fuzz.*)$|\1 \2|' | sort
}

list=$(for module; do targets "$module"; done)
if [ -n "${LIST:-}" ]; then
	echo "$list"
	exit
fi
[ -n "$list" ] || { echo "fuzz: there is no target in $*" >&2; exit 2; }
IFS='
'
for target in $list; do
	folder=${target% *} name=${target#* }
	found=$((found + 1))
	echo "fuzz: $name in $folder for ${TIME:-1m}"
	(cd "$folder" && go test -run '^$' -fuzz "^$name\$" -fuzztime "${TIME:-1m}" .) || { echo "fuzz: $name in $folder FAILED" >&2; code=1; }
done
echo "fuzz: $found targets$([ $code = 0 ] || echo ', and some failed')"
cd "$root" && git status --short --untracked-files=all | sed -n 's|^?? \(.*testdata/fuzz/.*\)|fuzz: a failing input: \1|p'
exit $code
