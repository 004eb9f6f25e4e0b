#!/bin/sh
# Copies a folder to .bin/npm/NAME, and installs the packages there that its package-lock.json pins, unless they were installed
# from the same files already.
#
#   tools/make/npm.sh FOLDER          NAME is the folder's last part
#
# Without npm, or if the installation fails, it prints a message and succeeds, and the tests that need the packages skip
# themselves. With REQUIRE_NPM set, as in the workflows, it fails instead.
set -eu
cd "$(dirname "$0")/../.."
folder=$1
target=.bin/npm/$(basename "$folder")

if [ -e "$target/installed" ] && diff -r -x node_modules -x installed "$folder" "$target" >/dev/null 2>&1; then
	exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "npm: npm is not installed; it is needed for the packages of $folder" >&2
	[ -z "${REQUIRE_NPM:-}" ]
	exit
fi
rm -rf "$target"
mkdir -p .bin/npm
cp -R "$folder" "$target"
echo "npm: installing the packages of $folder"
if (cd "$target" && npm ci --ignore-scripts --no-audit --no-fund) >"$target.log" 2>&1; then
	: >"$target/installed"
	exit 0
fi
tail -3 "$target.log" >&2
[ -z "${REQUIRE_NPM:-}" ]
