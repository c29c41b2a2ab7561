//go:build !unix

package process

// RaiseDescriptors is how many descriptors there are.
func RaiseDescriptors() int { return 1024 }
