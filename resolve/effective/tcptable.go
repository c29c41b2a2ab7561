package effective

import (
	"iter"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// TCPTable is where connections to one destination go, whatever they carry but for the
// name that they ask for in TLS.
type TCPTable struct {
	Destination *Destination
	// Origins are the rules that contributed, weakest first, and BackendsBy is the
	// one whose list holds; none where nobody says anything.
	Origins    []*api.Origin
	BackendsBy *api.Origin
	// Backends are never empty: without any in the documents, the destination
	// itself. The share of one that cannot be used is closed.
	Backends []Backend
	// ServerNames take the place of the others: connections go by the nearest name that
	// they ask for in TLS (SNI), and are closed where they ask for none of these.
	ServerNames []ServerName
}

// ServerName is where the connections go that ask for a name, or for one below it where it
// begins with *. Its table has no names.
type ServerName struct {
	Name string
	*TCPTable
}

// Parts yields where connections go: the table itself, or what is for each name.
func (t *TCPTable) Parts() iter.Seq[*TCPTable] {
	return func(yield func(*TCPTable) bool) {
		if len(t.ServerNames) == 0 {
			yield(t)
			return
		}
		for _, s := range t.ServerNames {
			if !yield(s.TCPTable) {
				return
			}
		}
	}
}

// For is where connections go that ask for a name in TLS, empty for none; nil where they
// are closed for it. As in Envoy an exact name goes before what stands for all names below
// another one, and the longer of those first.
func (t *TCPTable) For(name string) *ServerName {
	var found *ServerName
	name = strings.ToLower(name)
	for i := range t.ServerNames {
		s := &t.ServerNames[i]
		if api.HostCovers(s.Name, name) && (found == nil || Nearer(s.Name, found.Name)) {
			found = s
		}
	}
	return found
}

// By is a rule because of which whole connections are sent on.
func (t *TCPTable) By() *api.Origin {
	for part := range t.Parts() {
		if part.BackendsBy != nil {
			return part.BackendsBy
		}
	}
	return nil
}

// Is reports whether both are equal tables of one destination.
func (t *TCPTable) Is(o *TCPTable) bool {
	return t != nil && o != nil && t.Destination == o.Destination && derive.Same(t.Backends, o.Backends) &&
		derive.Same(t.Origins, o.Origins) && derive.Same(t.BackendsBy, o.BackendsBy) && derive.Same(t.ServerNames, o.ServerNames)
}
