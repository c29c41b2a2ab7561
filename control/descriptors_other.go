//go:build !unix

package control

// raiseDescriptors is how many descriptors there are.
func raiseDescriptors() int { return 1024 }
