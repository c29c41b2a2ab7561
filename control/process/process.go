// Package process keeps the process of a control plane within what its host has: the memory that it
// holds after a burst, and the descriptors that it may open.
package process
