#!/bin/sh
# Prints what CI runs, as outputs of a workflow step: modules=[...] of go.work, and for .ci/run deep=..., the libraries whose whole
# tests the change wants. deep is empty where the change is in more than three of them, or in tools, charts or the operator, whose deep
# tests take longer than CI has.
#
#   BASE_REF=commit tools/make/ci-plan.sh     compares HEAD with that commit; without it everything runs
#
# A change concerns the module that it is in and those whose go.mod replaces that one. A page of the documentation concerns
# only tools, whose tests compare it with the code; what is in no module concerns all. FILES replaces what git diff prints.
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
