// Package explain tells everything that applies to one dataplane, and why.
package explain

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
)

// Explanation is everything that applies to one dataplane, with its reasons.
type Explanation struct {
	Dataplane string `json:"dataplane"`
	Revision  uint64 `json:"revision"`
	// Acked is the revision that the sidecar has confirmed. Whoever knows it
	// sets it; 0 is unknown.
	Acked uint64 `json:"acked"`
	// Connected says whether the sidecar is; nil where nobody knows.
	Connected *bool `json:"connected,omitempty"`
	// Identity is who it is to others; absent where it has none.
	Identity *Identity `json:"identity,omitempty"`
	// Closed is who has redirected ports closed that no inbound names; absent where they are open.
	Closed    *api.Origin `json:"closed,omitempty"`
	Outbounds []Outbound  `json:"outbounds"`
	// OutboundsTotal is how many outbounds are chosen, of which Outbounds may be a page; Next
	// is where the next one is, which whoever knows it sets.
	OutboundsTotal int       `json:"outboundsTotal"`
	Next           *string   `json:"next,omitempty"`
	Inbounds       []Inbound `json:"inbounds"`
	Edges          []Edge    `json:"edges,omitempty"` // of an edge dataplane
	// Policies are what holds of the dataplane as a whole; absent where nobody says anything.
	Policies map[string]sim.Policy `json:"policies,omitempty"`
	// NotApplied are the first of the policies and routes that take no part in what
	// is shown, with the reason; UnmatchedTotal counts all of them.
	NotApplied      []NotApplied `json:"unmatched"`
	NotAppliedTotal int          `json:"unmatchedTotal"`
	Notes           []api.Note   `json:"notes"`
}

// Outbound is one destination as the dataplane calls it.
type Outbound struct {
	Destination sim.Destination `json:"destination"`
	ID          string          `json:"id"`
	Address     string          `json:"address"`
	Port        uint32          `json:"port"`
	Protocol    api.Protocol    `json:"protocol"` // that the proxy reads
	// Edge says that clients from outside call it, at a listener of an edge dataplane.
	Edge bool `json:"edge,omitempty"`
	// Routes tell requests apart; or there is one, without matches, for whole
	// connections, or one for each name that clients ask for in TLS; or none, where they go to the destination itself.
	Routes   []Route               `json:"routes"`
	Policies map[string]sim.Policy `json:"policies"`
}

// Route is one merged rule, in the place of its first match.
type Route struct {
	Key     string        `json:"key"`
	Name    string        `json:"name"`
	Matches []match.Match `json:"matches"`
	// ServerName is the name in TLS for which clients ask whose connections the rule is for,
	// or for one below it where it begins with *; empty is all.
	ServerName string `json:"serverName,omitempty"`
	// Origins are the rules that it was merged from, weakest first; none for the
	// implicit last route.
	Origins []*api.Origin `json:"origins"`
	// Over are rules that gave way to it as a whole, Via the objects that include it,
	// outermost first.
	Over []*api.Origin `json:"over,omitempty"`
	Via  []*api.Origin `json:"via,omitempty"`
	// SupersededLists are the lists of rules among Origins of which others hold.
	SupersededLists []SupersededList `json:"lost,omitempty"`
	// ShadowedBy is set where earlier routes take every request that it matches.
	ShadowedBy *Shadow               `json:"shadowedBy"`
	Filters    []string              `json:"filters,omitempty"` // in words
	FiltersBy  *api.Origin           `json:"filtersBy,omitempty"`
	Answer     string                `json:"answer,omitempty"` // of the proxy's own, in words; a redirect is among Filters
	Backends   []sim.Backend         `json:"backends"`         // none where the proxy answers by itself
	BackendsBy *api.Origin           `json:"backendsBy,omitempty"`
	Hash       string                `json:"hash,omitempty"`       // by what requests are told apart for backends whose balance is a hash, in words
	WebSockets string                `json:"webSockets,omitempty"` // on or off, where the rule forwards and says so
	Mirrors    []sim.Mirror          `json:"mirrors,omitempty"`
	Policies   map[string]sim.Policy `json:"policies"`
}

// SupersededList is what a rule says that gave way to the list of another, while the rest of it holds.
type SupersededList struct {
	What   string      `json:"what"` // filters or backends
	Texts  []string    `json:"texts"`
	Origin *api.Origin `json:"origin"`
	By     *api.Origin `json:"by"`
}

// supersededLists are the lists that gave way at a rule.
func supersededLists(rt *effective.Route) (out []SupersededList) {
	for i := range rt.SupersededLists {
		l := &rt.SupersededLists[i]
		x := SupersededList{What: SupersededFilters, Origin: l.Origin, By: rt.FiltersBy, Texts: []string{}}
		for i := range l.Filters {
			x.Texts = append(x.Texts, terminal.FilterText(&l.Filters[i]))
		}
		if l.Redirect != nil {
			x.Texts = append(x.Texts, terminal.RedirectText(l.Redirect))
		}
		if !l.OfFilters() {
			x.What, x.By = SupersededBackends, rt.ActionBy
			for _, b := range l.Backends {
				x.Texts = append(x.Texts, "to "+inspect.RefText(b.Target))
			}
		}
		out = append(out, x)
	}
	return out
}

// What of a rule may give way while the rest of it holds.
const (
	SupersededFilters  = "filters"
	SupersededBackends = "backends"
)

// Shadow is the route that is in the way.
type Shadow struct {
	Key     string        `json:"key"`
	Origins []*api.Origin `json:"origins"`
}

// Edge is one port at which clients from outside call hosts: so many Outbounds of the
// same address, whose Edge is set.
type Edge struct {
	Address string `json:"address"`
	Port    uint32 `json:"port"`
	Hosts   int    `json:"hosts"`
	// TLS is what is shown there to clients who speak TLS, by the names that they ask for;
	// absent where they do not.
	TLS []Shown `json:"tls,omitempty"`
	// Connections says that whole connections go on from there.
	Connections bool `json:"connections,omitempty"`
}

// Shown is what clients see who ask for a name in TLS.
type Shown struct {
	Name    string   `json:"name"`    // of a host, *. and one for all below it, or * for all that has no other
	Secrets []string `json:"secrets"` // NAMESPACE/NAME
	Minimum string   `json:"minimum"` // the oldest version of TLS
	Hosts   int      `json:"hosts"`   // that are served then
	// Connections says that whole connections go on: as they are where there are no Secrets.
	// One without Hosts is closed.
	Connections bool `json:"connections,omitempty"`
}

// edge is one port of an edge dataplane.
func edge(r *effective.Resolved, x *effective.Edge) Edge {
	out := Edge{Address: x.Address, Port: x.Port, Hosts: len(r.Hosts(x)), Connections: x.Connections}
	for _, c := range r.Chains(x) {
		s := Shown{Name: cmp.Or(c.Name, api.AnyHost), Hosts: len(c.Hosts), Connections: c.Connections, Secrets: []string{}}
		if c.To != nil {
			s.Hosts = 1
		}
		if len(c.Secrets) > 0 {
			s.Minimum = cmp.Or(c.Minimum, "1.2")
		}
		for _, ref := range c.Secrets {
			s.Secrets = append(s.Secrets, ref.Namespace+"/"+ref.Name)
		}
		out.TLS = append(out.TLS, s)
	}
	return out
}

// attempt lets a bug in telling a part of r be a note beside the other parts.
func attempt(r *effective.Resolved, said *notes.Collector, tell func()) {
	defer func() {
		if bug := recover(); bug != nil {
			said.Add(notes.Failure(r.Ref, bug))
		}
	}()
	tell()
}

func policyViews(list effective.Policies, spoken api.Protocol) map[string]sim.Policy {
	return notNil(sim.PolicyViews(list, spoken))
}

// notNil is never null in JSON.
func notNil(views map[string]sim.Policy) map[string]sim.Policy {
	if views == nil {
		return map[string]sim.Policy{}
	}
	return views
}

func destination(d *effective.Destination) sim.Destination {
	return sim.Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
}

// outbound is one of r; with brief it is without what policies say there.
func outbound(r *effective.Resolved, o *effective.Outbound, brief bool) Outbound {
	out := Outbound{
		Destination: destination(o.Destination), ID: o.Destination.ID, Address: o.Address, Port: o.Port,
		Protocol: o.Protocol(), Edge: o.Edge, Routes: []Route{}, Policies: map[string]sim.Policy{},
	}
	if !brief {
		out.Policies = policyViews(o.Policies, o.Protocol())
	}
	if o.TCP != nil {
		out.Routes = append(out.Routes, connections(r, o, brief)...)
	}
	if o.Table == nil {
		return out
	}
	buckets := sim.CountBuckets(o.Table)
	seen := map[string]bool{}
	open := map[string]bool{} // rules with a match that is not shadowed
	for i, rt := range o.Table.Routes {
		by := shadow(o.Table.Routes[:i], &rt.Match)
		if !seen[rt.Key] {
			n := len(out.Routes)
			seen[rt.Key] = true
			out.Routes = append(out.Routes, routeOf(r, rt))
			out.Routes[n].ShadowedBy = by
			if !brief {
				out.Routes[n].policies(r, o.Destination.Protocol, rt)
				buckets.Tell(rt, out.Routes[n].Policies)
			}
		}
		if by == nil {
			open[rt.Key] = true
		}
	}
	for i := range out.Routes {
		if open[out.Routes[i].Key] {
			out.Routes[i].ShadowedBy = nil
		}
	}
	return out
}

// connections are the rules for whole connections: one, or one for each name that clients
// ask for in TLS, and none where nobody wrote any.
func connections(r *effective.Resolved, o *effective.Outbound, brief bool) []Route {
	var out []Route
	add := func(name string, t *effective.TCPTable) {
		if t.BackendsBy == nil {
			return
		}
		x := Route{Matches: []match.Match{}, ServerName: name, Origins: t.Origins, Backends: sim.Connections(r, t), BackendsBy: t.BackendsBy,
			Policies: map[string]sim.Policy{}}
		if !brief {
			x.Policies = notNil(sim.ConnectionPolicies(r, o, t.Backends))
			tellOnward(x.Backends, sim.Onward(r, o.Policies, t.Backends, o.Protocol()))
		}
		if len(x.Backends) == 0 {
			x.Answer = "closed, for no backend has a weight"
		}
		out = append(out, x)
	}
	add("", o.TCP)
	for _, s := range o.TCP.ServerNames {
		add(s.Name, s.TCPTable)
	}
	return out
}

// RouteOf is one rule of a table of r where a protocol is spoken: it is not looked whether
// backends have endpoints.
func RouteOf(r *effective.Resolved, spoken api.Protocol, rt *effective.Route) Route {
	out := routeOf(nil, rt)
	out.policies(r, spoken, rt)
	return out
}

// policies adds what policies say of rt where a protocol is spoken, and of its backends.
func (out *Route) policies(r *effective.Resolved, spoken api.Protocol, rt *effective.Route) {
	out.Policies = notNil(sim.RoutePolicies(r, rt, spoken))
	if rt.Answers() == nil {
		tellOnward(out.Backends, sim.Onward(r, rt.Policies, rt.Backends, spoken))
	}
}

// tellOnward sets what is said about the connections to backends, in their order.
func tellOnward(list []sim.Backend, views []map[string]sim.Policy) {
	for n := range list {
		if n < len(views) && views[n] != nil {
			list[n].Policies = views[n]
		}
	}
}

// routeOf is rt without that.
func routeOf(r *effective.Resolved, rt *effective.Route) Route {
	out := Route{
		Key: rt.Key, Name: rt.Name, Matches: rt.Matches, Origins: rt.Origins, Over: rt.Superseded, Via: rt.IncludedBy, FiltersBy: rt.FiltersBy, BackendsBy: rt.ActionBy,
		Backends: []sim.Backend{}, Policies: map[string]sim.Policy{}, Mirrors: sim.Mirrors(rt), SupersededLists: supersededLists(rt),
	}
	if out.Origins == nil {
		out.Origins = []*api.Origin{}
	}
	for i := range rt.Filters {
		out.Filters = append(out.Filters, terminal.FilterText(&rt.Filters[i]))
	}
	switch do := rt.Answer.(type) {
	case *route.Redirect:
		out.Filters, out.FiltersBy = append(out.Filters, terminal.RedirectText(do)), cmp.Or(rt.FiltersBy, rt.ActionBy)
	case *route.Respond:
		out.Answer = terminal.RespondText(do)
	default:
		out.Backends = append(out.Backends, sim.Shares(r, rt.Backends)...)
		out.WebSockets, out.Hash = rt.Upgrade.String(), route.HashText(rt.Hash)
	}
	return out
}

// shadow is the first earlier route that takes all that m matches.
func shadow(earlier []*effective.Route, m *match.Match) *Shadow {
	if by := effective.ShadowOf(earlier, m); by != nil {
		return &Shadow{Key: by.Key, Origins: by.Origins}
	}
	return nil
}
