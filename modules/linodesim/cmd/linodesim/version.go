package main

// Set by the linker when an image is built.
var (
	version = "dev"
	commit  = "unknown"
)
