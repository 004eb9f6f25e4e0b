#!/bin/sh
# Prints the plan of CI as outputs of a workflow step. modules=[...] has the modules of go.work that the change concerns. deep=..., for
# .ci/run, has the libraries for which all tests run. deep is empty if the change is in more than three libraries, or outside of the
# libraries and the documentation (tools, charts, modules/operator, modules/advisor): their deep tests take longer than CI may.
#
#   BASE_REF=commit tools/make/ci-plan.sh     compares HEAD with that commit; without it everything runs
#
# A changed file concerns its module, and each module whose go.mod replaces a concerned module. A page of the documentation concerns only
# tools, whose tests compare it with the code. Any other file outside of the modules concerns all modules. FILES replaces the output of
# git diff.
set -eu
cd "$(dirname "$0")/../.."
modules=$(sed -n 's|^[[:space:]]*\./\([a-z/]*\)$|\1|p' go.work)

if [ -n "${FILES+set}" ]; then
	files=$FILES
elif [ -n "${BASE_REF:-}" ]; then
	files=$(git diff --name-only "$BASE_REF...HEAD")
else
	files=go.work
fi

deep=
for file in $files; do
	case $file in
	docs/* | *.md) ;;
	modules/operator/* | modules/advisor/* | tools/*) deep="$deep - - - -" ;;
	modules/*)
		owner=$(echo "$file" | cut -d / -f 1-2)
		case " $deep " in *" $owner "*) ;; *) deep="$deep $owner" ;; esac
		;;
	*) deep="$deep - - - -" ;;
	esac
done
[ "$(echo "$deep" | wc -w)" -le 3 ] || deep=
deep=${deep# }

concerned=' '
add() {
	case $concerned in *" $1 "*) return 1 ;; esac
	concerned="$concerned$1 "
}

for file in $files; do
	owner=
	for module in $modules; do
		case $file in "$module"/*) owner=$module ;; esac
	done
	case $owner$file in
	docs/* | *.md) : "${owner:=tools}" ;;
	esac
	for module in ${owner:-$modules}; do
		add "$module" || true
	done
done
again=true
while $again; do
	again=false
	for module in $modules; do
		parent=$(dirname "$module")
		for sibling in $(sed -n 's|.*=> \.\./||p' "$module/go.mod"); do
			sibling=${parent#.}${parent:+/}$sibling
			case $concerned in *" ${sibling#/} "*) ! add "$module" || again=true ;; esac
		done
	done
done

# list prints the lines of its input as a JSON array.
list() { awk '{ printf "%s%s", n++ ? "," : "", $0 } BEGIN { printf "[" } END { print "]" }'; }

printf modules=
for module in $modules; do
	case $concerned in *" $module "*) echo "\"$module\"" ;; esac
done | list
echo "deep=$deep"
