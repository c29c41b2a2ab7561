package contour

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// The bounds of one host: includes may multiply, for an object may be included often.
const (
	mostRules  = 20_000
	mostVisits = 20_000 // of objects
	mostChains = 100    // of one object that are looked at for its status
)

// said is what a rule means.
type said struct {
	asked
	key     string
	do      route.Action
	filters []route.Filter
	upgrade route.Upgrade
	inline  []route.Inline
	via     []*api.Origin
	bare    bool // nobody wrote it: the answer of a broken include
	// insecure says that the rule is for clients who speak no TLS too, where the host has it.
	insecure bool
}

// read says what one object means: a root serves its host by its own routes and those
// that it includes; a child is there for others.
func (n rootNamespaces) read(o *api.Object, see route.Lister) *route.ParsedRoute {
	r := &report{of: o, see: see, keep: true}
	out := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
	if isRoot(o) {
		out.Entries = n.host(r, see)
	} else {
		n.child(r, see)
		out.Entries = []route.Entry{{Rules: written(r)}}
	}
	out.Notes = r.notes()
	return out
}

// host is what a root says for its host. One that cannot be served says that nothing
// is there; one that may not be a root says nothing.
func (n rootNamespaces) host(r *report, see route.Lister) []route.Entry {
	spec := r.of.Spec.(*HTTPProxy)
	served := n.serves(r, see)
	var tls *route.ServerTLS
	if served {
		tls = serverTLS(r, see)
		served = !r.broken
	}
	general(r)
	if spec.VirtualHost.FQDN == "" || !n.permit(r.of) {
		return []route.Entry{{Rules: written(r)}}
	}
	entry := route.Entry{To: route.HostRef(spec.VirtualHost.FQDN, hostPort), Field: "spec.virtualhost.fqdn"}
	says := &host{hostLimit(r), corsOf(r)}
	if served && !r.broken {
		w := &walk{see: see, reader: r}
		entry.Rules = w.object(r, rootChain())
	} else {
		rulesOf(r, rootChain()) // for what is wrong with them
	}
	if r.broken {
		entry.Rules = written(r)
		return []route.Entry{entry}
	}
	entry.Payload = says
	onlyBelow(entry.Rules, spec.VirtualHost.FQDN)
	shadowed(r, entry.Rules)
	if len(entry.Rules) == 0 { // the host is there, and nothing in it
		entry.Rules = []route.Rule{{Origin: &api.Origin{Ref: r.of.Ref}}}
	}
	if tls == nil {
		return []route.Entry{entry}
	}
	secure := entry
	secure.To, secure.TLS = route.HostRef(spec.VirtualHost.FQDN, securePort), tls
	entry.Rules = insecure(entry.Rules)
	return []route.Entry{entry, secure}
}

// host is what a root that is served says for its host as a whole; nil where it is
// not served, and then nothing is found there.
type host struct {
	limit []route.Inline
	cors  *route.CORS
}

// written are the routes of an object by themselves, so that policies can name them
// wherever they are served; they match nothing.
func written(r *report) []route.Rule {
	list := r.of.Spec.(*HTTPProxy).Routes
	quiet := &report{of: r.of}
	out := make([]route.Rule, 0, len(list)+1)
	for i := range list {
		m := &routeMaker{report: quiet, spec: &list[i], index: i, at: api.Path("spec.routes").Index(i)}
		m.forward()
		out = append(out, route.Rule{Origin: m.origin(), Backends: m.backends, Mirrors: m.mirrors})
	}
	if len(out) == 0 {
		out = append(out, route.Rule{Origin: &api.Origin{Ref: r.of.Ref}})
	}
	return out
}

// general is what is to be said of an object as a whole.
func general(r *report) {
	spec := r.of.Spec.(*HTTPProxy)
	if r.of.DeprecatedVersion != "" {
		r.warns(specError, deprecated, "apiVersion", "%s is an older version; write %s/v1", r.of.DeprecatedVersion, group)
	}
	connections(r)
	without(r, "spec", given{"tcpproxy", spec.TCPProxy != nil})
}

// walk goes from a root through all that it includes. What is wrong with other objects
// is found again where they are read, and told there.
type walk struct {
	see    route.Lister
	reader *report
	visits int
	rules  int
}

// object is the rules of one object, those of its includes first. A mistake in one of
// its own routes takes all of them away.
func (w *walk) object(r *report, in *chain) []route.Rule {
	if w.visits++; w.visits > mostVisits || w.rules > mostRules {
		w.reader.fails(specError, "TooManyRoutes", "spec.includes", "the host has more than %d routes with all that is included, or visits more than %d objects for them; include less", mostRules, mostVisits)
		return nil
	}
	var out []route.Rule
	for _, e := range edges(r) {
		out = append(out, w.include(r, &e, in)...)
	}
	own := rulesOf(r, in)
	if r.broken {
		return nil
	}
	w.rules += len(own)
	return append(out, own...)
}

// include is the rules behind one include.
func (w *walk) include(r *report, e *edge, in *chain) []route.Rule {
	next, o, instead := enter(r, w.see, e, in)
	if o == nil {
		return instead
	}
	return w.object(&report{of: o, see: w.see}, next)
}

// enter is the chain through an include to what it names, or what stands there
// instead.
func enter(r *report, see route.Lister, e *edge, in *chain) (next *chain, o *api.Object, instead []route.Rule) {
	origin := &api.Origin{Ref: r.of.Ref, Field: e.at}
	next, ok := in.below(r, e, origin)
	if !ok {
		return nil, nil, nil
	}
	o, ok = see.Object(e.target)
	switch {
	case !ok:
		r.errs(includeError, "IncludeNotFound", e.at, "there is no HTTPProxy %s; create it, or remove the include", nameOf(e.target))
		return next, nil, broken(e, next, origin)
	case isRoot(o):
		r.errs(includeError, "RootIncludesRoot", e.at, "%s has a virtual host of its own; include one without", nameOf(e.target))
		return next, nil, broken(e, next, origin)
	case slices.Contains(next.visited, e.target):
		return next, nil, nil // whoever is visited twice is told
	}
	return next, o, nil
}

// broken answers what a broken include would have taken; nothing where it has no
// conditions of its own.
func broken(e *edge, in *chain, origin *api.Origin) []route.Rule {
	if e.block.empty() {
		return nil
	}
	p := in.with(nil)
	s := &said{asked: newAsked(p, in.headers, in.queries), do: &route.Respond{Status: 502}, via: in.via[:len(in.via)-1], bare: true}
	rule, err := s.rule(origin)
	if err != nil {
		return nil // its own conditions were sound
	}
	return []route.Rule{rule}
}

// rule is the rule that means s.
func (s *said) rule(origin *api.Origin) (route.Rule, error) {
	conditions, err := s.path.conditions()
	if err != nil {
		return route.Rule{}, err
	}
	for i := range s.headers {
		conditions = append(conditions, *s.headers[i].condition)
	}
	for i := range s.queries {
		conditions = append(conditions, *s.queries[i].condition)
	}
	s.key = s.asked.key()
	return route.Rule{Origin: origin, Matches: []match.Match{{Conditions: conditions}}, Payload: s}, nil
}

// shadowed warns of routes of the object that nothing comes to: a later one has the
// same conditions.
func shadowed(r *report, rules []route.Rule) {
	last := map[string]*api.Origin{}
	for i := len(rules) - 1; i >= 0; i-- {
		origin, key := rules[i].Origin, rules[i].Payload.(*said).key
		by, taken := last[key]
		if !taken {
			last[key] = origin
			continue
		}
		switch r.of.Ref {
		case origin.Ref:
			r.warns(routeError, "ShadowedRoute", origin.Field, "%s of %s has the same conditions and holds; change or remove one of them", by.Field, nameOf(by.Ref))
		case by.Ref:
			r.warns(routeError, "ShadowedRoute", by.Field, "takes all requests of %s of %s, which has the same conditions; change or remove one of them", origin.Field, nameOf(origin.Ref))
		}
	}
}

// cycle is what an object is told that includes itself.
func cycle(r *report, refs []api.Ref) {
	text := ""
	for i, ref := range refs {
		if i > 0 {
			text += " -> "
		}
		text += nameOf(ref)
	}
	r.errs(includeError, "IncludeCreatesCycle", "spec.includes", "%s", fmt.Sprintf("it includes itself: %s; remove one of these includes", text))
}
