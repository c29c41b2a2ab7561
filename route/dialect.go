package route

import (
	"cmp"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// Dialect is one route language. What its objects mean stays in its own terms
// until all that is said about one frontend is known: only Compose makes the
// model of it.
type Dialect struct {
	Name  string
	Types []api.Type
	// Beside are documents of the language that are no routes: routes look at them.
	Beside []api.Type
	// Read says what one object means; what it cannot carry becomes a note. Of other
	// objects it knows what see shows, and is called again when that changes.
	Read func(o *api.Object, see Lister) *ParsedRoute
	// Keys are the words by which Lister.Keyed finds an object of the language beside
	// its ref: a host that it serves, an object that it includes. They follow from the
	// object alone. It may be nil.
	Keys func(o *api.Object) []string
	// Class is the ingress class of an object: who is to serve it; empty where it says none. It
	// may be nil.
	Class func(o *api.Object) string
	// Compose makes the rules of one frontend of all that is said about it for one
	// class of dataplanes, weakest first by the order of policies. It is pure: equal
	// candidates have equal answers. Without candidates it says what holds where
	// nobody says anything, if it is asked.
	Compose func(Frontend, []Candidate) Composition
	// Meet is what there is to note about one object because of others that speak for the
	// same frontend: all are the candidates there, mine among them. It may be nil.
	Meet func(f Frontend, mine Candidate, all []Candidate) []api.Note
	// Status is the status of an object in the form that the language has for it, as
	// JSON; nil where it has none but the conditions.
	Status func(Findings) any
	// Print writes a table as documents of the kind Prints, in the words of the language;
	// what it has no words for it says. It is nil where nobody translates into it.
	Print  func(*Table) *Printed
	Prints string
	// Hosts and Services are whether its documents are for a host, and for who calls a
	// service.
	Hosts, Services bool
	// TLSHosts says that they can be for those alone who speak TLS to a host, whose certificate
	// somebody else names.
	TLSHosts bool
	// Rewriters are what rewrites documents of older forms, by kind: of the language's own
	// kinds, and of others that it has taken the place of.
	Rewriters map[string]Rewriter
	// Assume is o as it is read where the documents that it refers to are elsewhere, and
	// those documents, as far as what o means depends on them. It may be nil.
	Assume func(o *api.Object, see Lister) (as *api.Object, beside []*api.Object)
}

// Findings are what was found about one object.
type Findings struct {
	Object   *api.Object
	Verdicts []StatusCondition // Accepted, ResolvedRefs, Programmed
	Notes    []api.Note
	// Objects shows the other objects of its mesh, and Edges are those edge dataplanes of
	// which it says where they listen.
	Objects Lister
	Edges   []*api.Object
	// Entries are what it says, as its dialect reads it.
	Entries []Entry
}

// StatusCondition is one condition of an object.
type StatusCondition struct{ Type, Status, Reason, Message string }

// Lister shows the other objects of the mesh that an object is in.
type Lister interface {
	// Zone is where the control plane is.
	Zone() api.Zone
	// Object finds one by its ref.
	Object(api.Ref) (*api.Object, bool)
	// Objects are those of a kind that carry all the labels, in the order of their refs.
	Objects(kind string, labels map[string]string) []*api.Object
	// Keyed are those of a kind of routes that have the key among their dialect's
	// Keys, in the order of their refs.
	Keyed(kind, key string) []*api.Object
	// Shares reports whether what another object of the mesh says of a host holds wherever the
	// word of the one that is read does: in a mesh whose hosts are owned that of another
	// namespace does not, unless it was granted the host.
	Shares(o *api.Object, host string) bool
}

// Frontend is where a client asks: a port of a service, or a host at a port.
type Frontend struct {
	Kind, Name, Namespace string // of the service; of a host api.KindHost and its name
	Port                  uint32 // 0 for a kuma.io/service
	Protocol              api.Protocol
	TLS                   bool // clients speak TLS there
}

// HostRef is what an entry says for a host at a port. The host is a name, or *.
// and a name for all below it.
func HostRef(host string, port uint32) api.TargetRef {
	return api.TargetRef{Kind: api.KindHost, Name: host, SectionName: strconv.FormatUint(uint64(port), 10)}
}

// ParsedRoute is what one object says, for all frontends. Whom it concerns and what
// it refers to is for everybody; what its rules mean only its dialect knows.
type ParsedRoute struct {
	Object *api.Object
	Top    api.TargetRef // which dataplanes have it
	Role   string        // as of policies, where the dialect has roles; empty is system
	// Connections says that the rules are about connections and not about requests:
	// they hold where no object that tells requests apart has rules. Its entries for hosts
	// are for edge dataplanes alone: api.AnyHost is every connection to a port, the others are
	// names for which clients ask in TLS.
	Connections bool
	// Speaks is the protocol of a port that the object routes where nobody wrote one
	// down; empty leaves it at TCP.
	Speaks  api.Protocol
	Entries []Entry
	// Edges are the edge dataplanes of which the object says where they listen: at
	// Listeners, in place of their own. Of several objects that name one the first by
	// ref holds.
	Edges     api.Edges
	Listeners []Listener
	Notes     []api.Note // on any object
}

// Entry is what an object says for one frontend.
type Entry struct {
	// To is a service, or a host by HostRef; of no kind where the rules only serve
	// those objects that include them.
	To api.TargetRef
	// Callers is the namespace whose dataplanes alone have the entry; empty is no such
	// bound. For them what is said so stands in the place of what is said to all.
	Callers string
	// Edges are the edge dataplanes that alone have the entry, which is for a host;
	// without a name in it all have it. Those that are none have it in any case.
	Edges api.Edges
	// Below says that the entry, which is for all hosts below one, is also for each of
	// them that other objects of the same kind name for the same Edges.
	Below bool
	// TLS says that the entry, which is for a host, is for clients that speak TLS: edge
	// dataplanes alone have it. Its certificates are the host's own; without any those of
	// the listener hold.
	TLS   *ServerTLS
	Index int      // among the entries of the document
	Field api.Path // where the document says To
	// Rules may be those of other objects too, as their origins say.
	Rules []Rule
	// Payload is what the object means for To as a whole, in its dialect.
	Payload any
}

// Rule is one rule as written.
type Rule struct {
	Origin  *api.Origin
	Matches []match.Match // one of which must hold; only Compose says what is matched in the end
	// Backends and Mirrors are the refs that it holds.
	Backends, Mirrors []BackendRef
	// Unserved is why every request of the rule fails, or every connection, whatever backends there
	// are; empty where one need not.
	Unserved string
	// Payload is what the rule means in its dialect.
	Payload any
}

// Candidate is what one object says for a frontend.
type Candidate struct {
	*ParsedRoute
	*Entry
}

// IngressClass is of which class an object is: its field says so, else the first of
// api.ClassAnnotations; empty where none does.
func IngressClass(o *api.Object, field string) string {
	for _, name := range api.ClassAnnotations {
		field = cmp.Or(field, o.Annotation(name))
	}
	return field
}
