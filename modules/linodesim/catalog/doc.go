// Package catalog lists what a simulated Linode account can buy: plans with their
// prices, regions with their capabilities, the availability of restricted
// plans per region, public images, prices of control planes and Kubernetes
// versions per tier.
//
// The facts are data, facts.json, in the fields of the API, with two dates: of
// the lists, and of the prices. `make catalogue` reads the public lists of the
// Linode API and writes the file again; the nightly workflow proposes what
// changed.
//
// What the file has without that: the 75 plans and 47 regions that were listed
// on the date. Capabilities of the 34 core regions were recorded in June 2026,
// capabilities of the 13 distributed ones between 2025 and 2026. Sizes and prices were recorded
// in 2024 (US dollars; Jakarta, id-cgk, and Sao Paulo, br-gru, cost
// more), for plans that exist since then. Missing names, for each other plan,
// the fields for which there is no source. They are 0, which clients have to
// take for unknown, and the plan is offered in no region where its availability
// is not known either. GPU plans have a base price of 0, as listed; the prices
// of RTX 4000 Ada plans, known from 2025 and 2026, stand as region prices where
// these plans are offered, RTX 6000 ones are sold by contract. The only estimates
// are the disks of two GPU plans (g2-gpu-rtx4000a2-s, g2-gpu-rtx4000a4-s), so that GPUs
// can be bought here, and the sizes of Slackware and Alpine 3.23. Premium plans are offered where
// the region has the capability. Resolvers are addresses for documentation.
//
// Some entries let refusals be tried: an image without cloud-init (Slackware),
// regions without Kubernetes (the distributed ones), regions without LA Disk
// Encryption (no-osl-1).
//
// Units are the API's: memory and disk in MB (MiB), transfer in GB per month,
// network_out in Mbit/s.
//
// Everything is read-only and shared by all catalogs of a program.
//
// New parses facts.json once for the whole program; a damaged file panics there, and a test reads
// it. The callers are the simulator, and `make catalogue`, which writes the file with Encode.
package catalog
