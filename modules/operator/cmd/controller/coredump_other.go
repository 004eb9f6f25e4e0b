//go:build !linux

package main

// forbidCoreDumps does nothing: the controller's image is for Linux only.
func forbidCoreDumps() error { return nil }
