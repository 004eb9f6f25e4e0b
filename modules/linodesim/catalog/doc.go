// Package catalog lists what a simulated Linode account can buy: plans with their
// prices, regions with their capabilities, the availability of restricted
// plans per region, public images, prices of control planes and Kubernetes
// versions per tier.
//
// The facts are data, facts.json, in the fields of the API: sizes and prices
// are those of 2024 and 2025 (US dollars; Jakarta, id-cgk, and Sao Paulo,
// br-gru, cost more; a month of backups costs what 2000/3 hours do), image
// sizes, IDs and regions those of 2026. The RTX 4000 Ada plans are known only by
// their IDs from availability rows; their sizes and prices are assumptions, and
// so is the size of Slackware. Three entries are there so that refusing them
// can be tried: an image without cloud-init (Slackware), a region without
// Kubernetes (in-bom-2), one without LA Disk Encryption (us-central).
//
// Units are the API's: memory and disk in MB (MiB), transfer in GB per month,
// network_out in Mbit/s.
//
// Everything is read-only and shared by all catalogs of a program.
package catalog
