#!/bin/sh
# Generates everything again and fails if that changes a file: the committed files must
# be the files that their sources generate. In a clean clone, as in CI,
# `git status --porcelain` must be empty afterwards. With work in progress, generating
# must not change its output.
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
