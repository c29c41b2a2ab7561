// Package leader is what one replica of a cluster does at a time, the one that holds the Lease: it runs
// the writers, creates the default Mesh and default policies once, and writes what follows from
// authorities.
//
// It promises that a writer that fails touches no other, that what users have deleted stays deleted,
// and that nothing is planned before what earlier leaders have written is seen. Who leads, package
// election decides.
package leader
