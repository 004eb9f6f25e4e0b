// Package catalog lists what a simulated Linode account can buy: plans with their
// prices, regions with their capabilities, the availability of restricted
// plans per region, public images, prices of control planes and Kubernetes
// versions per tier.
//
// The facts are data, facts.json, in the fields of the API. It has two dates: the date
// of the lists and the date of the prices. `make catalogue` reads the public lists of
// the Linode API and writes the file again; the nightly workflow proposes the changes.
//
// Without a run of that command, the file has facts from several sources:
//
//	75 plans, 47 regions              as listed on the date
//	capabilities, 34 core regions     recorded in June 2026
//	capabilities, 13 distributed      recorded between 2025 and 2026
//	sizes and prices                  recorded in 2024, for plans that exist since then, in US dollars;
//	                                  Jakarta (id-cgk) and Sao Paulo (br-gru) cost more
//
// Missing names, for each other plan, the fields for which there is no source. They are
// 0, and a client has to read 0 as unknown. If the availability of such a plan is not
// known either, no region offers it. GPU plans have a base price of 0, as listed. The
// prices of RTX 4000 Ada plans, known from 2025 and 2026, are region prices of the
// regions that offer these plans; RTX 6000 plans are sold by contract. The only
// estimates are the disks of two GPU plans (g2-gpu-rtx4000a2-s, g2-gpu-rtx4000a4-s), so
// that GPUs can be bought here, and the sizes of Slackware and Alpine 3.23. Premium
// plans are offered where the region has the capability. Resolvers are addresses for
// documentation.
//
// Some entries exist so that tests can try refusals: an image without cloud-init
// (Slackware), regions without Kubernetes (the distributed ones), regions without LA
// Disk Encryption (no-osl-1).
//
// Units are the API's: memory and disk in MB (MiB), transfer in GB per month,
// network_out in Mbit/s.
//
// Everything is read-only and shared by all catalogs of a program.
//
// New parses facts.json once for the whole program. A damaged file makes New panic; a
// test reads the file. The callers are the simulator, and `make catalogue`, which
// writes the file with Encode.
package catalog
