// Program catalogue writes the simulator's catalog (modules/linodesim/catalog/facts.json) again from the public lists of the Linode
// API: plans, regions and the availability of restricted plans, which need no token. `make catalogue` runs it, and then the tests that
// write the derived files; the nightly workflow proposes the change.
//
// It prints what changed, one line each. Images, prices of control planes and versions of Kubernetes stay as they are: the first two
// change rarely, and the last needs a token. Resolvers of regions are replaced by addresses for documentation. A list that lacks
// many plans or regions of the file is refused, because it probably did not arrive completely.
package main
