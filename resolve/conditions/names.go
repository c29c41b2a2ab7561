package conditions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// names are those of all things of a sort in a mesh, among which that is looked for which somebody
// may have meant. Many who are lost ask for them, so they are gathered once for all.
type names struct {
	has map[string]bool
	*nearest.Words
}

func newNames(has map[string]bool) *names {
	return &names{has, nearest.NewList(slices.Collect(maps.Keys(has)))}
}

// destNames are those of all destinations.
func (m Mesh) destNames() *names {
	for range m.DestinationsNamed(index.Any) {
		break // so that it is known what was looked at
	}
	return m.namesIn("destinations", func(m Mesh) *names {
		has := map[string]bool{}
		for d := range m.DestinationsNamed(index.Any) {
			if !d.Listed {
				has[d.Name] = true
			}
		}
		return newNames(has)
	})
}

// routeNames are the display names of all routes of a kind.
func (m Mesh) routeNames(kind string) *names {
	for range m.RoutesByName.Values(m.At, index.AnyOf(kind)) {
		break
	}
	return m.namesIn(kind, func(m Mesh) *names {
		var all []string
		for r := range m.RoutesByName.Values(m.At, index.AnyOf(kind)) {
			all = append(all, r.Object.DisplayName())
		}
		return &names{Words: nearest.NewList(all)}
	})
}

// planeNames are the names of all dataplanes, or else of their services.
func (m Mesh) planeNames(own bool) *names {
	for range m.Dataplanes.Values(m.At) {
		break
	}
	of := "services of dataplanes"
	if own {
		of = "dataplanes"
	}
	return m.namesIn(of, func(m Mesh) *names {
		has := map[string]bool{}
		for p := range m.Dataplanes.Values(m.At) {
			if own {
				has[p.Facts.Name], has[p.Facts.Display()] = true, true
				continue
			}
			for _, tags := range p.Facts.Tags {
				if n := tags[api.TagService]; n != "" {
					has[n] = true
				}
			}
		}
		return newNames(has)
	})
}

// namesOf tells names of a sort from other answers.
type namesOf string

// namesIn are the names that gather finds in all of the mesh, also where a question stops.
func (m Mesh) namesIn(what string, gather func(Mesh) *names) *names {
	return derive.Once(m.At, namesOf(what), func(at derive.At) *names { return gather(Mesh{m.Stage.Mesh(at)}) })
}

// The codes of notes on what Mesh.tenancy keeps from acting.
const (
	CodeAnyClass = "IngressClassServed"
	// CodeNotOwned marks a host that acts in the namespace of its object alone.
	CodeNotOwned = "HostNotGranted"
)

// ownershipNotes are those on a route because of whose its hosts are, and of its ingress class.
func ownershipNotes(x Mesh, r *index.Route) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: r.Object.Ref}
	if class := index.ClassOf(&x.Dialects[r.Dialect], r.Object); class != "" && (r.Tenancy == nil || r.Tenancy.IngressClasses == nil) {
		notes = append(notes, api.Notef(origin, api.Warning, CodeAnyClass, "", "it is of ingress class %s and served all the same, for Mesh %s names no classes; if another controller serves it, name yours in tenancy.ingressClasses", redact.Clip(class), r.Object.Mesh))
	}
	notes = append(notes, unshownNotes(x, r)...)
	told := map[string]bool{}
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		home := r.Object.HomeNamespace()
		if e.To.Kind != api.KindHost || len(e.Rules) == 0 || told[e.To.Name] || !r.Owns(e.To.Name) {
			continue
		}
		told[e.To.Name] = true
		severity := api.Warning
		if e.Edges.Namespace == home {
			severity = api.Info // at its own Gateway, as it says
		}
		notes = append(notes, api.Notef(origin, severity, CodeNotOwned, e.Field, "%s is served to dataplanes of namespace %s alone, for no grant gives it the host elsewhere; add namespace %s and the host to tenancy.hosts.grants of Mesh %s",
			e.To.Name, home, home, r.Object.Mesh))
	}
	return notes
}

// unshownNotes are those on a route of which no edge dataplane may show the certificate, though there
// are some.
func unshownNotes(x Mesh, r *index.Route) []api.Note {
	var notes []api.Note
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		if e.To.Kind != api.KindHost || e.TLS == nil || r.Object.Shadow() {
			continue
		}
		for _, ref := range e.TLS.Secrets {
			at, shown := x.edgeNamespaces(ref)
			if shown || len(at) == 0 {
				continue
			}
			notes = append(notes, api.Notef(&api.Origin{Ref: r.Object.Ref}, api.Warning, index.CodeCertificateKept, e.Field, "no edge dataplane shows its certificate, Secret %s of namespace %s: those that there are run in %s and have no keys of others; name theirs in tenancy.edges of Mesh %s, or run an edge in namespace %s or a system namespace",
				ref.Name, ref.Namespace, strings.Join(at, ", "), r.Object.Mesh, ref.Namespace))
		}
	}
	return notes
}

// shownNamespaces is how many namespaces a message has.
const shownNamespaces = 3

// edgeNamespaces are some namespaces of edge dataplanes, none of which may show a certificate; shown
// where one may.
func (m Mesh) edgeNamespaces(secret api.Ref) (at []string, shown bool) {
	for p := range m.Carrying(index.LabelKey(index.OwnType, index.Gateway)) {
		if !p.Facts.Edge {
			continue
		}
		if m.MayShow(p, secret) {
			return nil, true
		}
		if len(at) < shownNamespaces && !slices.Contains(at, p.Facts.Namespace) {
			at = append(at, p.Facts.Namespace)
		}
	}
	slices.Sort(at)
	return at, false
}

// membershipNotes say for what a dataplane answers, or would, by what its token does not prove, and how
// to prove it.
func membershipNotes(x Mesh, p *index.Dataplane) []api.Note {
	if p.Object.Bound() == nil || !x.HasIdentities() {
		return nil
	}
	var barred, open []string
	var claims []index.Claim
	for id, of := range x.ClaimedBy(p) {
		behind, _ := x.Members.Get(x.At, id)
		if behind == nil {
			continue
		}
		claims = append(claims, of...)
		if slices.ContainsFunc(behind.Left, func(l effective.LeftOut) bool { return l.Dataplane == p.Object.Ref }) {
			barred = append(barred, id)
		} else {
			open = append(open, id)
		}
	}
	slices.Sort(barred)
	slices.Sort(open)
	slices.SortFunc(claims, func(a, b index.Claim) int { return strings.Compare(a.String(), b.String()) })
	claims = slices.Compact(claims)
	mend := fmt.Sprintf("issue another token by `%s`, or apply the Dataplane", proving(p.Object, claims))
	var notes []api.Note
	if len(barred) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Error, api.CodeUnprovenMember, "", "by %s it would answer for %s, which takes mutual TLS alone, and its token does not prove that, so nobody is led to it; %s", services.ClaimsText(claims), services.SomeNames(barred), mend))
	}
	if len(open) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Warning, api.CodeUnprovenMember, "", "by %s it answers for %s, and its token does not prove that: where mode Strict begins nobody is led to it any more; %s", services.ClaimsText(claims), services.SomeNames(open), mend))
	}
	return notes
}

// proving is the command that issues a token which binds what the last one does, and claims too.
func proving(o *api.Object, claims []index.Claim) string {
	proof, words := o.Bound(), []string{}
	add := func(word string, all map[string][]string) {
		for k, values := range all {
			for _, v := range values {
				words = append(words, "--"+word+" "+k+"="+v)
			}
		}
	}
	add(index.TagClaim, proof.Tags)
	add(index.LabelClaim, proof.Labels)
	for _, c := range claims {
		words = append(words, "--"+c.Word+" "+c.Key+"="+c.Value)
	}
	slices.Sort(words)
	text := "weft token dataplane --mesh " + o.Mesh + " --name " + o.FullName()
	if proof.Workload != "" {
		text += " --workload " + proof.Workload
	}
	return strings.Join(append([]string{text}, slices.Compact(words)...), " ")
}
