// Program catalogue writes the simulator's catalog (modules/linodesim/catalog/facts.json) again from the public lists of the Linode
// API: plans, regions and the availability of restricted plans, which need no token. `make catalogue` runs it, and then the tests that
// write the derived files; the nightly workflow proposes the change.
//
// It prints a line for each change. Images, prices of control planes and versions of Kubernetes stay as they are: images and these prices
// change rarely, and the list of versions needs a token. Resolvers of regions are replaced by addresses for documentation. A list with less
// than four fifths of the file's plans or regions is refused, because it probably did not arrive completely.
package main
