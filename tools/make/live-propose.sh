#!/bin/sh
# Proposes the changed docs/live-results.md as a pull request, in a workflow with GH_TOKEN.
set -eu
branch=live-results-$1-$(date -u +%Y-%m-%d)
git config user.name "github-actions[bot]"
git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
git checkout -b "$branch"
git commit -m "docs: result of verify on LKE $1" docs/live-results.md
gh auth setup-git
git push origin "$branch"
gh pr create --fill --head "$branch"
