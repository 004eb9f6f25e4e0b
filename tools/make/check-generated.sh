#!/bin/sh
# Generates everything again and fails when that changes a file: what is committed
# must be what the descriptions say. In a clean clone, as in CI, this means that
# `git status --porcelain` is empty afterwards; with work in progress it means that
# generating adds nothing to it.
set -eu
cd "$(dirname "$0")/../.."

state() {
	git status --porcelain
	git diff HEAD
	git ls-files --others --exclude-standard -z | xargs -0 -r cksum
}

before=$(state | cksum)
tools/make/generate.sh
after=$(state | cksum)
if [ "$before" != "$after" ]; then
	echo "generate: these files are not what their sources generate; run 'make generate' and commit:" >&2
	git status --porcelain >&2
	exit 1
fi
if [ "${CI:-}" = true ] && [ -n "$(git status --porcelain)" ]; then
	echo "generate: the tree is not clean:" >&2
	git status --porcelain >&2
	exit 1
fi
echo "generate: nothing to change"
