package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Authorizer is implemented for a kind whose confs say who may come in. What several of them
// say adds up instead of the strongest being the one that holds, so that an override beside a
// default replaces nothing. Where several kinds authorize, a caller gets in whom all of them let in.
type Authorizer interface {
	// OpenByDefault reports whether the kind lets everybody in where no document of it is about an
	// inbound, and leaves that to other kinds; else it lets nobody in there.
	OpenByDefault() bool
	// Collect is what everything comes to that is said of one place, items of from weakest first.
	Collect(Callers, []Collected) *Effective
	// All lets in whom each of several lets in; none of them is All of others.
	All([]*Effective) *Effective
	// AtConnections is what there is to note where what holds meets callers of whom nobody reads
	// requests.
	AtConnections(*Effective) []api.Note
	// AsksPlaintext reports whether what holds is asked of callers too that prove no name.
	AsksPlaintext(*Effective) bool
	// Callers are those that a document names.
	Callers(*Spec) []Named
	// Void are the entries of a document that hold of no request.
	Void(*Spec) []Void
	// Revoked are the callers that a document takes away where it is the one of revocations
	// (api.RevocationsName).
	Revoked(*Spec) []Named
	// Closed is what there is to note where what holds lets nobody in, of documents that only
	// deny some callers, which OnlyDenies tells.
	Closed(*Effective) []api.Note
	OnlyDenies(*Spec) bool
}

// Collected is what one entry of a document says, by default or as an override, to a kind
// whose entries add up instead of replacing each other (see Authorizer).
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

// Gather is what entries come to that add up, weakest first; nil if there are none.
func (k *Kind) Gather(of Callers, said []Collected) *Effective {
	if len(said) == 0 {
		return nil
	}
	e := k.Authorizer.Collect(of, said)
	e.Kind = k
	return e
}

// Jointly lets in whom each of several lets in.
func (k *Kind) Jointly(each []*Effective) *Effective {
	if len(each) == 1 {
		return each[0]
	}
	e := k.Authorizer.All(each)
	e.Kind = k
	return e
}

// Nobody is what holds where nobody gets in, of a kind whose entries add up.
func (k *Kind) Nobody() *Effective {
	e := k.Authorizer.Collect(Callers{}, nil)
	e.Kind = k
	return e
}
