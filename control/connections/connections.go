// Package connections knows which sidecars are connected: here, at a replica that is a peer, and to the
// control plane before this one; with which revision those go on that refuse a later one, from which
// hosts tokens are used, who was not let in, and how many dataplanes are in which state.
//
// It promises that what the next control plane has to know is on the disk when it has to be, and that
// whatever it keeps of dataplanes is bounded. It configures nothing and nobody.
package connections
