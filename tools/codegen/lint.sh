#!/bin/sh
# Validates openapi/linode.yaml with its examples and checks its conventions; a part of `make lint`.
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")"
GOWORK=off CGO_ENABLED=0 exec go run ./speclint ../../openapi/linode.yaml
