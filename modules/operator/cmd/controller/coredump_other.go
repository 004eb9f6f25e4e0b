//go:build !linux

package main

// forbidCoreDumps does nothing: the controller's image is one for Linux.
func forbidCoreDumps() error { return nil }
