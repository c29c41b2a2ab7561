package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// source is a table that is to be translated.
type source struct {
	route.Table
	frontend  route.Frontend
	unmatched *route.MergedRule
	all       []route.Line  // as they were
	by        []*api.Object // who say it, the first by ref first
	secrets   []api.Ref     // with the certificates of its hosts, where clients speak TLS
}

// hostPort is where hosts are served of which nobody says the port.
const hostPort = 80

// said is what the objects of one language say, by where clients ask.
type said struct {
	places []api.TargetRef
	at     map[string][]route.Candidate
	notes  []api.Note
}

// tables are what the objects of a language mean, but for those that are of the kind that
// is written.
func (c *converter) tables(d *route.Dialect) []*source {
	var out []*source
	owners := map[string]*api.Object{}
	for _, typ := range d.Types {
		if typ.Name != c.Kind && typ.Route {
			out = append(out, c.tablesOf(d, typ.Name, owners)...)
		}
	}
	return out
}

// tablesOf are what the objects of a kind mean; of equal tables for several hosts there is
// one. A place that has an owner, of a kind before it, is not theirs in the source either.
func (c *converter) tablesOf(d *route.Dialect, kind string, owners map[string]*api.Object) []*source {
	var out []*source
	s := c.read(d, kind, c.objects, true)
	bySign := map[string]*source{}
	for _, to := range s.places {
		by := s.at[text(to)]
		if owner := owners[text(to)]; owner != nil {
			for _, x := range by {
				c.note(&api.Origin{Ref: x.Object.Ref}, api.Warning, api.CodeConflicted, x.Entry.Field, "%s has these routes already, so this is not applied there and not translated; remove one of them", owner.Ref)
			}
			continue
		}
		owners[text(to)] = by[0].Object
		t := c.compose(d, s, to)
		if t == nil {
			continue
		}
		sign := t.sign()
		if same := bySign[sign]; same != nil && to.Kind == api.KindHost {
			same.To = append(same.To, to)
			continue
		}
		bySign[sign] = t
		out = append(out, t)
	}
	return out
}

// read asks the dialect what the objects of a kind say; aloud tells what cannot be
// translated whatever the target is.
func (c *converter) read(d *route.Dialect, kind string, objects []*api.Object, aloud bool) *said {
	out := &said{at: map[string][]route.Candidate{}}
	for _, o := range objects {
		if o.Kind != kind || o.Shadow() {
			continue
		}
		seen := view{d, objects}
		as := o
		if d.Assume != nil {
			var beside []*api.Object
			as, beside = d.Assume(o, seen)
			seen.objects = slices.Concat(beside, objects)
		}
		parsed := d.Read(as, seen)
		out.notes = append(out.notes, parsed.Notes...)
		if aloud {
			c.sourceNotes(parsed)
		}
		for i := range parsed.Entries {
			if e := &parsed.Entries[i]; e.To.Kind != "" && (!aloud || c.translatable(parsed, e)) {
				out.add(parsed, e, seen)
			}
		}
	}
	return out
}

// of is all that is said about a place, weakest first: about a port also what is said of
// all ports, about a host what is said of all hosts below a name of which it is one.
func (s *said) of(to api.TargetRef) []route.Candidate {
	exact := s.at[text(to)]
	list := slices.Clone(exact)
	if to.Kind == api.KindHost {
		for _, name := range api.HostsAbove(to.Name) {
			wide := to
			wide.Name = name
			for _, c := range s.at[text(wide)] {
				alsoNamed := func(x route.Candidate) bool { return x.Object.Kind == c.Object.Kind && x.Entry.Edges == c.Entry.Edges }
				if c.Entry.Below && len(c.Rules) > 0 && slices.ContainsFunc(exact, alsoNamed) {
					list = append(list, c)
				}
			}
		}
	}
	if to.Kind != api.KindHost && to.SectionName != "" {
		to.SectionName = ""
		list = slices.Concat(s.at[text(to)], list)
	}
	slices.SortStableFunc(list, weaker)
	return list
}

// secure reports whether something is said for clients that speak TLS to a host.
func (s *said) secure(host string) bool {
	return slices.ContainsFunc(s.places, func(to api.TargetRef) bool {
		return to.Name == host && to.Kind == api.KindHost && slices.ContainsFunc(s.at[text(to)], func(c route.Candidate) bool { return c.Entry.TLS != nil })
	})
}

// sourceNotes pass on what is wrong with the source itself.
func (c *converter) sourceNotes(o *route.ParsedRoute) {
	for _, n := range o.Notes {
		if n.Severity != api.Info && n.Origin.Ref == o.Object.Ref {
			c.note(n.Origin, n.Severity, n.Code, n.Field, "%s", n.Message)
		}
	}
}

// translatable reports whether an entry is for all that ask; no language but its own can
// say which callers have it.
func (c *converter) translatable(o *route.ParsedRoute, e *route.Entry) bool {
	why := ""
	switch {
	case o.Connections:
		why = "it is about connections, and " + c.Kind + " about requests; keep it as it is"
	case e.TLS != nil && !c.target.TLSHosts:
		why = "it is for clients that speak TLS, with a certificate that " + c.Kind + " does not name; what is written answers plaintext alone, so write a listener for TLS, and the routes for it without a certificate"
	case o.Top.Kind != api.KindMesh:
		why = "it is for some dataplanes alone, which " + c.Kind + " cannot say; write it for the whole mesh, or keep it"
	case e.Callers != "" || o.Role == api.RoleConsumer || o.Role == api.RoleWorkloadOwner:
		why = "it is for the callers of its own namespace alone, which is not translated; keep it as it is"
	case e.To.Kind == api.KindMesh || e.To.Name == "":
		why = "it selects services by more than a name, which " + c.Kind + " cannot say; name the service"
	}
	if why != "" {
		c.note(&api.Origin{Ref: o.Object.Ref}, api.Error, route.UnsaidPlace, e.Field, "%s", why)
	}
	return why == ""
}

// add takes an entry at each place that it is for.
func (s *said) add(o *route.ParsedRoute, e *route.Entry, seen view) {
	to := e.To.InMesh()
	if to.Kind != api.KindHost && to.Namespace == "" {
		to.Namespace = o.Object.HomeNamespace()
	}
	places := []api.TargetRef{to}
	if ports := seen.ports(to, o.Object.Mesh); to.SectionName == "" && len(ports) > 0 {
		places = nil
		for _, p := range ports {
			to.SectionName = p
			places = append(places, to)
		}
	}
	for _, to := range places {
		key := text(to)
		if s.at[key] == nil {
			s.places = append(s.places, to)
		}
		s.at[key] = append(s.at[key], route.Candidate{ParsedRoute: o, Entry: e})
	}
}

// weaker orders what is said about one place as policies are ordered: what names a port is
// stronger, then of two names the first in the alphabet, then the later entry.
func weaker(a, b route.Candidate) int {
	return cmp.Or(match.FalseFirst(a.Entry.To.SectionName != "", b.Entry.To.SectionName != ""), cmp.Compare(b.Object.DisplayName(), a.Object.DisplayName()),
		b.Object.Ref.Compare(a.Object.Ref), cmp.Compare(a.Entry.Index, b.Entry.Index))
}

// frontendOf is where clients ask for what to names.
func frontendOf(to api.TargetRef) route.Frontend {
	f := route.Frontend{Kind: to.Kind, Name: to.Name, Namespace: to.Namespace, Protocol: api.HTTP}
	if n, err := strconv.ParseUint(to.SectionName, 10, 16); err == nil {
		f.Port = uint32(n)
	} else if to.Kind == api.KindHost {
		f.Port = hostPort
	}
	return f
}

// compose is the table of one place; nil where there is none.
func (c *converter) compose(d *route.Dialect, s *said, to api.TargetRef) *source {
	list := s.of(to)
	t := &source{frontend: frontendOf(to)}
	t.To = []api.TargetRef{to}
	for _, x := range list {
		if x.Entry.TLS != nil && c.target.TLSHosts {
			t.TLS, t.frontend.TLS = true, true
			t.secrets = append(t.secrets, x.Entry.TLS.Secrets...)
		}
	}
	if to.Kind == api.KindHost && (t.TLS || s.secure(to.Name)) {
		t.Port = t.frontend.Port
	}
	made := d.Compose(t.frontend, list)
	for _, x := range list {
		if !slices.Contains(t.by, x.Object) {
			t.by = append(t.by, x.Object)
		}
	}
	slices.SortFunc(t.by, func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
	if to.Kind == api.KindHost && len(made.Rows) == 0 && !slices.ContainsFunc(list, func(x route.Candidate) bool { return len(x.Rules) > 0 }) {
		return nil
	}
	itself := map[*route.MergedRule]*route.MergedRule{}
	for _, r := range made.Rows {
		t.Lines = append(t.Lines, route.Line{Match: match.Match{Conditions: r.Match.Conditions.Simplified()}, MergedRule: named(r.MergedRule, to, itself)})
	}
	if made.Default != nil {
		t.unmatched = named(made.Default, to, itself)
	}
	for _, in := range made.Inline {
		c.note(in.Origin, api.Error, route.UnsaidFilter, in.Origin.Field, "a limit of a host counts the requests of all its rules together, which %s cannot say; write one at each rule", c.Kind)
	}
	return t
}

// named is a rule that names the destination where it sends to the destination itself.
func named(r *route.MergedRule, to api.TargetRef, made map[*route.MergedRule]*route.MergedRule) *route.MergedRule {
	if _, itself := r.Do.(route.Passthrough); !itself {
		return r
	}
	if made[r] == nil {
		copied := *r
		ref := to
		ref.SectionName = ""
		b := route.BackendRef{Target: ref, Home: api.Home{Namespace: to.Namespace}, Port: frontendOf(to).Port, Weight: 1, Broken: 500}
		copied.Do = &route.Forward{Backends: []route.BackendRef{b}, NoBackend: route.Respond{Status: 500}}
		made[r] = &copied
	}
	return made[r]
}

// sign is one text for tables that say the same, in the words of the same rules.
func (t *source) sign() string {
	parts := []string{fmt.Sprint(t.To[0].Name == api.AnyHost, t.Port, t.secrets)}
	for i := range t.Lines {
		l := &t.Lines[i]
		parts = append(parts, l.Conditions.Text(), effect(l.MergedRule, l.Path(), l.Path(), t.frontend.Port), fmt.Sprint(origins(l.MergedRule)))
	}
	return text(parts)
}

func origins(c *route.MergedRule) []string {
	var out []string
	for _, o := range c.Origins {
		out = append(out, o.FullName()+" "+string(o.Field))
	}
	return out
}
