package hostnames

import (
	"maps"
	"sync"
	"weak"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/sidecar/attach"
)

// Lists are the lists of names that sidecars are told, one for all who may call the same.
// A publication makes those anew of which something changed, when somebody asks. Equal
// lists are one, whoever they are for.
type Lists struct {
	mu      sync.Mutex
	known   map[callers]*list
	sweepAt int // how many there are before those are forgotten that nobody asked for lately
	// lists are those that somebody has, by version.
	lists        map[string]weak.Pointer[attach.Names]
	listsSweepAt int // how many there are before those are forgotten that nobody has
}

// callers are the dataplanes whose workloads may call the same: a mesh, and what
// resolve.Model.CallsAs says.
type callers struct{ mesh, as string }

// list is the list for some callers. Who makes one holds up nobody else's.
type list struct {
	mu    sync.Mutex
	model weak.Pointer[resolve.Model] // that was asked last; nobody may ask again
	from  *reachability.Hostnames
	names *attach.Names
}

// Of is the list for a dataplane of a model.
func (l *Lists) Of(m *resolve.Model, dp api.Ref) *attach.Names {
	c := callers{dp.Mesh, m.CallsAs(dp)}
	x := l.list(m, c)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.model.Value() == m {
		return x.names
	}
	from := m.Hostnames(c.mesh, c.as, x.from)
	if x.names == nil || from != x.from {
		x.from, x.names = from, l.shared(from)
	}
	x.model = weak.Make(m)
	return x.names
}

// list is where the list for some callers is, or will be.
func (l *Lists) list(m *resolve.Model, c callers) *list {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.known[c]; x != nil {
		return x
	}
	if l.known == nil {
		l.known, l.lists = map[callers]*list{}, map[string]weak.Pointer[attach.Names]{}
	}
	if len(l.known) >= l.sweepAt {
		l.sweep(m)
	}
	x := &list{}
	l.known[c] = x
	return x
}

// sweep forgets what was not asked of the newest model: who asks for it again has it made
// once more. It needs mu.
func (l *Lists) sweep(newest *resolve.Model) {
	for c, x := range l.known {
		if x.mu.TryLock() { // else somebody asks for it now
			if x.model.Value() != newest {
				delete(l.known, c)
			}
			x.mu.Unlock()
		}
	}
	l.sweepAt = 2*len(l.known) + 64
}

// shared is the list that all are told who may call by those names.
func (l *Lists) shared(from *reachability.Hostnames) *attach.Names {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.lists[from.Version].Value(); known != nil {
		return known
	}
	if len(l.lists) >= l.listsSweepAt {
		maps.DeleteFunc(l.lists, func(_ string, x weak.Pointer[attach.Names]) bool { return x.Value() == nil })
		l.listsSweepAt = 2*len(l.lists) + 64
	}
	out := &attach.Names{Version: from.Version, Names: make([]*attach.Name, 0, len(from.List))}
	for _, x := range from.List {
		out.Names = append(out.Names, &attach.Name{Name: x.Name, Addresses: x.Addresses, Last: x.Last})
	}
	l.lists[from.Version] = weak.Make(out)
	return out
}
