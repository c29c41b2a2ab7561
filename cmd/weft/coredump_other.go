//go:build !linux

package main

// withoutCoreDump does nothing where only Linux has the means.
func withoutCoreDump() error { return nil }
