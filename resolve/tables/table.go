package tables

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// tableBuilder makes one table.
type tableBuilder struct {
	Mesh
	class    *Class
	outbound effective.Policies // of the destination as a whole
	own      effective.Backend
	clusters []ClusterRef
	base     index.Layers            // what holds for every rule by default
	baseline effective.Policies      // of a rule of which nothing more is said
	stacks   map[*index.Item][]stack // by their last item
}

func (b *tableBuilder) build(all *routing.Composition) *effective.Table {
	b.under(all.Inline)
	t := &effective.Table{Destination: b.class.spoken, Routes: make([]*effective.Route, 0, len(all.Rows)+1)}
	rules := map[*route.MergedRule]*effective.Route{} // of several matches
	for i := range all.Rows {
		row := &all.Rows[i]
		r := new(effective.Route)
		if first := rules[row.MergedRule]; first != nil {
			*r = *first
		} else {
			*r = b.route(row.MergedRule, all.From)
		}
		if len(row.Matches) > 1 {
			rules[row.MergedRule] = r
		}
		r.Match = row.Match
		t.Routes = append(t.Routes, r)
	}
	if all.Default != nil {
		r := b.route(all.Default, nil)
		r.Match, r.Matches = match.CatchAll, []match.Match{match.CatchAll}
		t.Routes = append(t.Routes, &r)
	}
	return t
}

// connections is where whole connections go.
func (b *tableBuilder) connections(all *route.Composition) *effective.TCPTable {
	t := &effective.TCPTable{Destination: b.class.spoken}
	if all.Connections != nil {
		t = b.sends(all.Connections)
	}
	for _, s := range all.ServerNames {
		t.ServerNames = append(t.ServerNames, effective.ServerName{Name: s.Name, TCPTable: b.sends(s.MergedRule)})
	}
	for i := range b.clusters {
		b.clusters[i].Connections = true
	}
	return t
}

// sends is where one rule sends connections. No policy attaches to it.
func (b *tableBuilder) sends(c *route.MergedRule) *effective.TCPTable {
	t := &effective.TCPTable{Destination: b.class.spoken, Origins: c.Origins, BackendsBy: c.ActionBy, Backends: []effective.Backend{b.own}}
	if do, ok := c.Do.(*route.Forward); ok {
		t.Backends = make([]effective.Backend, len(do.Backends))
		for i := range do.Backends {
			t.Backends[i] = b.connect(&do.Backends[i])
		}
	} else if b.class.dest.Kind == api.KindHost { // nobody is behind it
		t.Backends = nil
	} else {
		b.use(b.class.dest.Destination, new(Variant))
	}
	return t
}

// route is one composed rule, but for which of its matches it stands for.
func (b *tableBuilder) route(c *route.MergedRule, from []*index.Contribution) effective.Route {
	r := effective.Route{Key: c.Key, Name: c.Name, Matches: c.Matches, Origins: c.Origins, Filters: c.Filters, Upgrade: c.Upgrade,
		FiltersBy: c.FiltersBy, ActionBy: c.ActionBy, SupersededLists: c.SupersededLists, Superseded: c.Superseded, IncludedBy: c.IncludedBy, Policies: b.policies(c, from)}
	own := b.ownConfs(c.Inline)
	switch do := c.Do.(type) {
	case *route.Forward:
		r.NoBackend, r.Hash = do.NoBackend, do.Hash
		for i := range do.Backends {
			r.Backends = append(r.Backends, b.backend(&do.Backends[i], own))
		}
		if do.NoPolicies && r.Answers() != nil {
			r.Policies = nil
		}
	case route.Passthrough:
		if b.class.dest.Kind == api.KindHost { // nobody is behind it
			break
		}
		b.use(b.class.dest.Destination, new(Variant))
		r.Backends = []effective.Backend{b.own}
	case route.DirectResponse:
		r.Answer = do
		return r
	}
	for _, f := range c.Filters {
		if f.Mirror != nil {
			r.Mirrors = append(r.Mirrors, effective.Mirror{Backend: b.backend(&f.Mirror.Backend, own), Percent: f.Mirror.Percent, Host: f.Mirror.Host})
		}
	}
	return r
}

// use notes that the table names a cluster.
func (b *tableBuilder) use(d *effective.Destination, v *Variant) {
	b.clusters = append(b.clusters, ClusterRef{Id: d.ID, Name: v.ClusterName(d), Variant: v.Key()})
}
