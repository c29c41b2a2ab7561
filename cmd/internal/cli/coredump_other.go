//go:build !linux

package cli

// WithoutCoreDump does nothing where only Linux has the means.
func WithoutCoreDump() error { return nil }
