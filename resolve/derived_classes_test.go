package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/derive"
)

// called is what a dataplane calls, and the class that it belongs to for each
// destination; empty for what leads nowhere.
type called struct {
	calls   []call
	classes []string
}

// said is what policies say about a destination as a whole.
type said struct {
	dest     *Destination
	policies Policies
}

// routed is where requests or connections to a destination go.
type routed struct {
	*said
	table    *Table
	tcp      *TCPTable
	clusters []clusterRef
}

// selectors tell the classes of a destination apart.
type selectors struct{ subjects }

// refs are the clusters that a table names.
type refs struct{ list []clusterRef }

// classKey names a class of dataplanes at a destination.
func classKey(id, class string) string { return id + "\x00" + class }

func (c *collections) addClasses() {
	c.addSelectors()
	calls := derive.Derive(c.schema, "calls", c.dataplanes, derive.Values[called]{Equal: func(a, b *called) bool { return sameCalls(a.calls, b.calls) }},
		func(r *derive.Reader, key string) *called {
			p, _ := c.dataplanes.Get(r, key)
			return &called{calls: c.at(r).calls(p)}
		})
	c.called = derive.Derive(c.schema, "classes held", calls, derive.Values[called]{
		Equal: func(a, b *called) bool { return sameCalls(a.calls, b.calls) && slices.Equal(a.classes, b.classes) },
	}, func(r *derive.Reader, key string) *called {
		p, _ := c.dataplanes.Get(r, key)
		was, _ := calls.Get(r, key)
		out := &called{was.calls, make([]string, len(was.calls))}
		for i := range out.calls {
			if d := out.calls[i].dest; d != nil {
				out.classes[i] = c.classOf(r, d.ID, p)
			}
		}
		return out
	})
	c.classes = c.called.Index(func(_ string, x *called, add func(string)) {
		for _, k := range x.classes {
			if k != "" {
				add(k)
			}
		}
	})
	c.said = derive.Derive(c.schema, "said", c.classes, derive.Values[said]{
		Equal: func(a, b *said) bool { return a.dest == b.dest && same(a.policies, b.policies) },
		Hash:  func(s *said) uint64 { return s.policies.hash(mixed(offset, s.dest.ID)) },
	}, func(r *derive.Reader, key string) *said {
		d, x := c.class(r, key)
		return &said{d.Destination, x.base.overridden(x.overrides).fold(c.kinds)}
	})
	c.routed = derive.Derive(c.schema, "tables", c.classes, derive.Values[routed]{Equal: (*routed).equal, Hash: (*routed).hash, Share: (*routed).share},
		func(r *derive.Reader, key string) *routed {
			d, x := c.class(r, key)
			s, _ := c.said.Get(r, key)
			x.outbound = s.policies
			c.at(r).addTable(d, x)
			return &routed{s, x.table, x.tcp, x.clusters}
		})
	c.refs = derive.Derive(c.schema, "clusters named", c.routed, derive.Values[refs]{Equal: func(a, b *refs) bool { return same(a.list, b.list) }},
		func(r *derive.Reader, key string) *refs {
			t, _ := c.routed.Get(r, key)
			return &refs{t.clusters}
		})
}

// classOf is the key of the class of p at a destination; empty where there is none.
func (c *collections) classOf(r *derive.Reader, id string, p *dataplane) string {
	if s, _ := c.selectors.Get(r, id); s != nil {
		return classKey(id, s.classKey(&p.facts))
	}
	return ""
}

// class is the destination of a class with what is said about it, and the class.
func (c *collections) class(r *derive.Reader, key string) (*dest, *class) {
	id, bits, _ := strings.Cut(key, "\x00")
	d, _ := c.dests.Get(r, id)
	s, _ := c.subjects.Get(r, id)
	return &dest{Destination: d.Destination, object: d.object, facts: d.facts, subjects: s}, s.class(bits, len(c.kinds))
}

func sameCalls(a, b []call) bool {
	return slices.EqualFunc(a, b, func(x, y call) bool {
		return x.address == y.address && x.port == y.port && x.dest == y.dest && x.index == y.index && x.name == y.name && same(x.lost, y.lost)
	})
}

func (r *routed) equal(o *routed) bool {
	return r.said == o.said && same(r.clusters, o.clusters) && (r.table.is(o.table) || r.tcp.is(o.tcp))
}

// share keeps the table of old, of which something else may be new.
func (r *routed) share(made *routed) *routed {
	switch {
	case r.tcp.is(made.tcp):
		made.tcp = r.tcp
	case r.table.is(made.table):
		made.table = r.table
	}
	return made
}

func (r *routed) hash() uint64 {
	out := mixed(offset, r.dest.ID)
	if r.table != nil {
		for _, x := range r.table.Routes {
			out = x.Policies.hash(mixed(out, x.Key))
		}
	}
	return out
}

// hash adds to h who said what where; it leaves out the values.
func (p Policies) hash(h uint64) uint64 {
	for _, e := range p {
		h = mixed(h, e.Kind.Name)
		for _, f := range e.Fields {
			for _, s := range f.Said {
				h = mixed(mixed(h, s.Origin.Name), string(s.Origin.Field))
			}
		}
	}
	return h
}

// offset and prime are those of FNV-1a.
const offset, prime = 14695981039346656037, 1099511628211

func mixed(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return h * prime
}
