// Package catalog is what a simulated Linode account can buy: plans with their
// prices, regions with their capabilities, the availability of restricted
// plans per region, and Kubernetes versions per tier.
//
// The catalogue is written by hand. Plan sizes and prices are those the API
// gave in 2024 (prices in US dollars; Jakarta, id-cgk, and Sao Paulo, br-gru,
// cost more). The RTX 4000 Ada plans are known only by their ids from
// availability rows; their sizes and prices here are assumptions.
//
// Units are the API's: memory and disk in MB (MiB), transfer in GB per month,
// network_out in Mbit/s.
//
// Everything is read-only after construction and safe for concurrent use.
// The world package and the HTTP handlers read it; nothing else needs to.
package catalog
