package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Collected is what one entry of a document says, by default or as an override, to a kind
// whose entries add up instead of replacing each other (Kind.Collect).
type Collected struct {
	merge.Layer
	// From is whom an item of from is about; nil for a rule, which says so itself.
	From *api.TargetRef
	// Sure and Maybe are the SPIFFE IDs, sorted, that workloads have which an item of from is
	// about: those that nobody else has, and all. Names made of tags are not among them.
	Sure, Maybe []string
	// KRI is that of the document.
	KRI string
	// Default says that the document came with the mesh, Shadow that it only shows what
	// it would do.
	Default, Shadow bool
}

// Callers is what is known of those who may call an inbound.
type Callers struct {
	// Mesh is the name of the inbound's mesh, Domains are the trust domains of its own
	// workloads, sorted.
	Mesh    string
	Domains []string
}

// Void is an entry that holds of no request.
type Void struct {
	Entry, Field api.Path // of the rule, and of what holds of nothing
	Message      string   // why, and what to write
	// Protects says that it is to keep somebody out, so that a document with it should not be written.
	Protects bool
}

// Named is a name of callers in a document.
type Named struct {
	Field  api.Path // where it stands
	Name   string   // a SPIFFE ID, or the beginning of one
	Prefix bool
}
