package route

import "github.com/weftmesh/weft/api"

// Dialect is one route language. What its objects mean stays in its own terms
// until all that is said about one frontend is known: only Compose makes the
// model of it.
type Dialect struct {
	Name  string
	Types []api.Type
	// Read says what one object means; what it cannot carry becomes a note.
	Read func(*api.Object) *Opinion
	// Compose makes the rules of one frontend of all that is said about it for one
	// class of dataplanes, weakest first by the order of policies. It is pure: equal
	// candidates have equal answers. Without candidates it says what holds where
	// nobody says anything, if it is asked.
	Compose func(Frontend, []Candidate) Composition
}

// Frontend is where a client asks: a port of a service.
type Frontend struct {
	Kind, Name, Namespace string // of the service
	Port                  uint32 // 0 for a kuma.io/service
	Protocol              api.Protocol
}

// Opinion is what one object says, for all frontends. Whom it concerns and what
// it refers to is for everybody; what its rules mean only its dialect knows.
type Opinion struct {
	Object *api.Object
	Top    api.TargetRef // which dataplanes have it
	Role   string        // as of policies, where the dialect has roles; empty is system
	// Connections says that the rules are about connections and not about requests:
	// they hold where no object that tells requests apart has rules.
	Connections bool
	Entries     []Entry
	Notes       []api.Note // on any object
}

// Entry is what an object says for one destination.
type Entry struct {
	To    api.TargetRef
	Index int // among the entries of the document
	Rules []Rule
}

// Rule is one rule as written.
type Rule struct {
	Origin  *api.Origin
	Matches []Match // one of which must hold; only Compose says what is matched in the end
	// Backends and Mirrors are the refs that it holds.
	Backends, Mirrors []BackendRef
	// Says is what the rule means in its dialect.
	Says any
}

// Candidate is what one object says for a frontend.
type Candidate struct {
	*Opinion
	*Entry
}
