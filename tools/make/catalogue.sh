#!/bin/sh
# Writes the simulator's catalogue again from the public lists of the Linode API, and then the files that are made from the catalogue: the
# operator's price list, the reports of whatif that its tests compare, and docs/plans.md. Prints the changes. Needs no token.
#
#   API=http://127.0.0.1:8470/v4 tools/make/catalogue.sh     another API than Linode's
set -eu
export GOTOOLCHAIN=auto GOWORK=off
cd "$(dirname "$0")/../.."

go -C tools run ./catalogue ${API:+-api "$API"}
go -C modules/operator test -count=1 -run '^TestTheListIsTheSimulatorsCatalogue$' ./catalog/pricelist -update >&2
go -C modules/advisor test -count=1 -run '^TestReportsOfFiveWorkloads$' ./whatif -update >&2
go -C tools run ./docs/cmd/reference >&2
