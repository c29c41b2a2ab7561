package effective

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Table is the ordered routes to one destination: an Envoy route configuration.
type Table struct {
	Destination *Destination
	Routes      []*Route // most specific first; the last matches everything
}

// Route is one Envoy route, before Envoy's own doubling of prefixes: one match
// and what happens to the requests that it matches.
type Route struct {
	Key     string // match key of the rule
	Name    string // Envoy route name
	Match   match.Match
	Matches []match.Match // the whole rule, of which Match is one alternative
	// Origins are the rules that contributed, weakest first; empty for the
	// implicit catch-all.
	Origins []*api.Origin
	// Superseded are rules that gave way as a whole, Via the objects that include the
	// rule, outermost first.
	Superseded, IncludedBy []*api.Origin
	Filters                []route.Filter
	// FiltersBy and ActionBy are the rules whose word holds, nil where nobody's does. SupersededLists are
	// the lists of others among Origins that gave way to them.
	FiltersBy, ActionBy *api.Origin
	SupersededLists     []route.SupersededList
	// Answer is what the proxy answers by itself; nil where it forwards to Backends.
	Answer   route.DirectResponse
	Backends []Backend
	// Hash is by what those backends choose an endpoint whose Balance is a hash.
	Hash []route.HashKey
	// NoBackend is the answer where none of Backends can take a request.
	NoBackend route.Respond
	Mirrors   []Mirror
	// Upgrade is whether WebSockets pass where it forwards.
	Upgrade  route.Upgrade
	Policies Policies
}

// Answers is what the proxy answers by itself to what matches; nil where it
// forwards.
func (r *Route) Answers() route.DirectResponse {
	if r.Answer != nil {
		return r.Answer
	}
	for i := range r.Backends {
		if b := &r.Backends[i]; b.Cluster != "" && b.Weight > 0 {
			return nil
		}
	}
	if r.NoBackend.Status == 0 {
		return unable
	}
	return &r.NoBackend
}

// notForwarded is why a policy on attempts has no effect on a route that has an Answer.
const notForwarded = "the proxy answers by itself, and forwards nothing"

// Idle says why a field of what holds on the route has no effect there, where p is
// spoken; empty where it has one.
func (r *Route) Idle(e *policies.Effective, field int, p api.Protocol) string {
	if r.Answer != nil && e.Kind.OnAttempts {
		return notForwarded
	}
	return e.Idle(field, p)
}

// Acting are the policies of the route without those of which nothing can act there.
func (r *Route) Acting() Policies {
	if r.Answer == nil {
		return r.Policies
	}
	return slices.DeleteFunc(slices.Clone(r.Policies), func(e *policies.Effective) bool { return e.Kind.OnAttempts })
}

// Changes are the filters of the route, with what they come to where it forwards, after
// the headers of an answer of the proxy's own.
func (r *Route) Changes() []route.Filter {
	if do, ok := r.Answers().(*route.Respond); ok && len(do.Headers) > 0 {
		return append([]route.Filter{{ResponseHeaders: &route.HeaderModifier{Set: do.Headers}}}, r.Filters...)
	}
	if r.Answers() == nil {
		return route.Forwarding(r.Filters)
	}
	return r.Filters
}

// unable answers where nobody can and nothing else is said.
var unable = &route.Respond{Status: 500}

// Backend is one share of a route's traffic.
type Backend struct {
	Kind      string
	Name      string
	Namespace string
	Tags      map[string]string
	Port      uint32
	Weight    uint32 // as written; 0 gets nothing
	// Cluster names the cluster; empty where the backend cannot be used.
	Cluster string
	Broken  Broken
	Filters []route.Filter // of what goes to it, after those of the route
	Balance route.Balance  // of its endpoints
	HTTP2   bool           // requests go on in HTTP/2, because the rule says so
}

// Broken is why a backend cannot be used, and what becomes of its share: requests
// are answered with Status, whole connections are closed; with neither, others
// have the share.
type Broken struct {
	Why    string
	Status uint32
	Close  bool
}

// Gets reports whether a share of the traffic falls to b, usable or not.
func (b *Backend) Gets() bool {
	return b.Weight > 0 && (b.Cluster != "" || b.Broken.Status != 0 || b.Broken.Close)
}

// Outside reports whether a share of the traffic leads out of the mesh, where no sidecar answers.
func Outside(list []Backend) bool {
	for _, b := range Sharing(list) {
		if b.Cluster != "" && (b.Kind == api.KindMeshExternalService || b.Kind == api.KindAddress) {
			return true
		}
	}
	return false
}

// Sharing yields the backends to which a share of the traffic falls, numbered.
func Sharing(list []Backend) iter.Seq2[int, *Backend] {
	return func(yield func(int, *Backend) bool) {
		n := 0
		for i := range list {
			if !list[i].Gets() {
				continue
			}
			if !yield(n, &list[i]) {
				return
			}
			n++
		}
	}
}

// Reuse takes over the routes at the beginning and at the end that are equal: as a rule
// few between them are new.
func (t *Table) Reuse(before *Table) {
	from, to, was := 0, len(t.Routes), len(before.Routes)
	for ; from < to && from < was && derive.Same(t.Routes[from], before.Routes[from]); from++ {
		t.Routes[from] = before.Routes[from]
	}
	for ; to > from && was > from && derive.Same(t.Routes[to-1], before.Routes[was-1]); to, was = to-1, was-1 {
		t.Routes[to-1] = before.Routes[was-1]
	}
}

// Is reports whether both are equal tables of one destination.
func (t *Table) Is(o *Table) bool {
	return t != nil && o != nil && t.Destination == o.Destination && derive.Same(t.Routes, o.Routes)
}

// ShadowOf is the first of the earlier routes of a table that takes every request
// that m matches; nil for none.
func ShadowOf(earlier []*Route, m *match.Match) *Route {
	for _, r := range earlier {
		if r.Match.Implies(m.Conditions) {
			return r
		}
	}
	return nil
}
