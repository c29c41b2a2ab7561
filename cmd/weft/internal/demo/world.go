package demo

import "io/fs"

// World is a mesh, and requests in it.
type World struct {
	mesh      string
	documents fs.FS // what is applied, in folders
	workloads []workload
	caller    string // the dataplane through whose sidecar the requests go
	called    []call
	steps     []step
	next      []string // commands for who wants to see more
}

// workload is one process of a service, with its dataplane.
type workload struct {
	dataplane, service, version string
	labels                      map[string]string
}

// call is a host that the caller calls, and how an outbound of its says so.
type call struct {
	host, by string
	ref      map[string]any
}
