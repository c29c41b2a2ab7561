// Package hostnames makes the lists of names that agents are told, one for all dataplanes that may call
// the same, and forgets those that nobody asks for.
package hostnames
