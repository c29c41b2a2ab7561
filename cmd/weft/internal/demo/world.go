package demo

import (
	"cmp"
	"io/fs"
	"slices"
)

// World is a mesh, and requests in it.
type World struct {
	mesh      string
	documents fs.FS // what is applied, in folders
	workloads []workload
	caller    string // the dataplane through whose sidecar the requests go
	called    []call
	steps     []step
	changes   fs.FS    // documents that steps apply
	next      []string // commands for who wants to see more
}

// workload is one process of a service, with its dataplane.
type workload struct {
	dataplane, service, version string
	labels                      map[string]string
}

// call is a host that is called, and how an outbound says so.
type call struct {
	host, by string
	ref      map[string]any
	from     string // the dataplane that calls; empty: the caller
}

// way is who calls which host.
type way struct{ from, host string }

// calls are the hosts that are called, each with who calls it.
func (w *World) calls() []call {
	out := slices.Clone(w.called)
	for i := range out {
		out[i].from = cmp.Or(out[i].from, w.caller)
	}
	return out
}
