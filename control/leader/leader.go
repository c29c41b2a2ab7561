// Package leader is what one replica of a cluster does at a time, the one that leads: it runs
// the writers, and creates the default Mesh and default policies once.
//
// It promises that a writer that fails touches no other, and that what users have deleted stays
// deleted. Who leads, a store.Leader decides.
package leader
