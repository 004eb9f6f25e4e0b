#!/bin/sh
# Writes the charts' README.md from README.md.gotmpl, Chart.yaml and values.yaml; `make generate` calls it.
# HELM_DOCS names another helm-docs than the one tools/codegen/go.mod pins.
set -eu

charts=$(cd "$(dirname "$0")" && pwd)
export GOWORK=off GOTOOLCHAIN=auto

helm_docs() {
	if [ -n "${HELM_DOCS:-}" ]; then
		"$HELM_DOCS" "$@"
	else
		# In the folder of tools/codegen, since go tool takes the tools of the module it is started in.
		(cd "$charts/../tools/codegen" && go tool helm-docs "$@")
	fi
}

helm_docs --chart-search-root="$charts" --log-level=warning --sort-values-order=file --skip-version-footer
