package reachability

import (
	"github.com/weftmesh/weft/api"
)

// Hostname is a name that only the mesh knows, and the addresses that it stands for, sorted.
type Hostname struct {
	Name      string // in lower case; *.NAME stands for all names below NAME
	Addresses []string
	// Last says that the addresses hold where nobody else knows the name: it is a host of
	// routes, which may well be one of the world.
	Last bool
}

// Hostnames are the names by which workloads may call what they reach, as far as nobody else
// answers for them (spec/kubernetes.md 3.10): <name>.mesh, those of status and of generators,
// at virtual addresses of the families that are redirected, and the hosts of routes. A classic
// service has its name where nobody else has it. Names of a
// Kubernetes Service are its cluster's. Of two services with one name that of the caller's
// namespace holds, else the first by its destination id.
type Hostnames struct {
	Version string     // follows from List
	List    []Hostname // sorted by name

	reads []any // pointers to all that it follows from, beside who calls
}

// Caller names the dataplanes whose workloads may call the same.
type Caller struct {
	Home     api.Home
	Families string                 `json:",omitempty"` // ipFamilyMode
	Limit    *api.ReachableBackends `json:",omitempty"`
	Groups   []string               `json:",omitempty"` // by which they reach hosts
}
