// Package wire is a request as clients write it, as Envoy reads it, and as it is
// forwarded: the URL, the head and its bounds, headers and their changes, upgrades
// and the draws of chance. It knows of routes what they change, and of no world.
package wire
