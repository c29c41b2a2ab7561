package conditions

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// RouteNotes finds the dataplanes, destinations and backends of a route that are
// not there.
func RouteNotes(x Mesh, r *index.Route) []api.Note {
	if r.Excluded {
		return nil // which is said already
	}
	notes := ownershipNotes(x, r)
	origin := &api.Origin{Ref: r.Object.Ref}
	if r.Parsed.Top.Kind == api.KindMeshGateway {
		notes = append(notes, api.Notef(origin, api.Error, "TargetNotFound", "spec.targetRef", noGateways))
	} else if n, nothing := selectsNone(x, r.Parsed.Top, r.Selector, origin); nothing {
		notes = append(notes, n)
	}
	hints := 0
	kept := keepsHosts(x, r)
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		for _, n := range entryNotes(x, r, e, &hints) {
			if n.Code == api.CodeConflicted && kept {
				n.Severity = api.Warning
			}
			if i == 0 || !slices.Contains(notes, n) { // entries may have the same rules
				notes = append(notes, n)
			}
		}
		for _, n := range meetingNotes(x, r, e) {
			if !slices.ContainsFunc(notes, func(o api.Note) bool { return o.Code == n.Code && o.Field == n.Field && o.Message == n.Message }) {
				notes = append(notes, n)
			}
		}
	}
	return append(notes, otherHostNotes(r)...)
}

// meetingNotes are those that the language of a route has because of others of its kind
// that speak for a destination of an entry of it.
func meetingNotes(x Mesh, r *index.Route, e *route.Entry) []api.Note {
	meet := x.Dialects[r.Dialect].Meet
	if meet == nil || r.Object.Shadow() {
		return nil
	}
	var notes []api.Note
	for d := range x.DestinationsMeant(r, e) {
		if !matcher.Destination(e.To, r.Object.Home(), &d.Facts) {
			continue
		}
		var all []route.Candidate
		for _, c := range x.SubjectsOf(d).Contributions {
			if c.Route.Dialect == r.Dialect {
				all = append(all, route.Candidate{ParsedRoute: c.Route.Parsed, Entry: c.Entry})
			}
		}
		mine := route.Candidate{ParsedRoute: r.Parsed, Entry: e}
		if slices.Contains(all, mine) {
			notes = append(notes, meet(routing.FrontendOf(d.Destination), mine, all)...)
		}
	}
	return notes
}

// keepsHosts reports whether a route is for hosts and some of them are its own: then it
// is accepted though others have the rest (spec/gateway-api.md 1.7).
func keepsHosts(x Mesh, r *index.Route) bool {
	return slices.ContainsFunc(r.Parsed.Entries, func(e route.Entry) bool {
		if e.To.Kind != api.KindHost || len(e.Rules) == 0 {
			return false
		}
		_, kept := OwnersOf(x, r, &e)
		return kept
	})
}

// OwnersOf are those who own destinations of an entry in the place of its route, and
// whether there are others, which are its own.
func OwnersOf(x Mesh, r *index.Route, e *route.Entry) (owners []*index.Route, kept bool) {
	for d := range x.DestinationsMeant(r, e) {
		if !matcher.Destination(e.To, r.Object.Home(), &d.Facts) {
			continue
		}
		if by := x.SubjectsOf(d).OwnerBefore(r, e); by != nil {
			owners = append(owners, by)
		} else {
			kept = true
		}
	}
	return owners, kept
}

// entryNotes are those on one entry of to of a route.
func entryNotes(x Mesh, r *index.Route, e *route.Entry, hints *int) []api.Note {
	var notes []api.Note
	home, origin := r.Object.Home(), &api.Origin{Ref: r.Object.Ref}
	at := e.Field
	acts, calls := false, true // on a destination of its own protocol; all are of gRPC
	var found, taken, unread *services.Destination
	var owner *index.Route
	for d := range x.DestinationsMeant(r, e) {
		if !matcher.Destination(e.To, home, &d.Facts) {
			continue
		}
		found, acts, calls = d, acts || r.Parsed.Connections || d.Reads(r.Parsed.Speaks), calls && d.Protocol == api.GRPC
		if by := x.SubjectsOf(d).OwnerBefore(r, e); len(e.Rules) > 0 && by != nil {
			taken, owner = d, by
		} else if len(e.Rules) > 0 && r.Parsed.Connections && d.Protocol.HTTPLike() && d.Kind != api.KindHost {
			unread = d
		}
	}
	switch {
	case e.To.Kind == "": // only for those who include it
	case e.To.Kind == api.KindMesh: // only beside a MeshGateway, of which there is a note
	case found == nil:
		notes = append(notes, api.Notef(origin, api.Warning, "TargetNotFound", at, "there is no %s%s", index.RefText(e.To), suggestion(x, e.To)))
	case !acts:
		notes = append(notes, api.Notef(origin, api.Warning, api.CodeNoEffect, at, "%s speaks %s, in which there are no requests to route, so this entry has no effect; declare http, http2 or grpc if it speaks that, or write a MeshTCPRoute",
			found.ID, found.Protocol))
	}
	if owner != nil {
		notes = append(notes, api.Notef(origin, api.Error, api.CodeConflicted, at, "%s; move its rules there", ownedBy(owner, taken.Destination)))
	}
	if unread != nil && !r.Object.Shadow() {
		notes = append(notes, api.Notef(origin, api.Warning, "RequestsUnread", at,
			"%s speaks %s, and with this entry nobody looks for requests there: policies for requests have no effect and requests are not counted; write a MeshHTTPRoute to keep them", unread.ID, unread.Protocol))
	}
	for i := range e.Rules {
		if !r.Parsed.Connections && e.Rules[i].Origin != nil {
			notes = append(notes, unmetNotes(e, &e.Rules[i], found != nil && calls)...)
		}
		if why := e.Rules[i].Unserved; why != "" {
			notes = append(notes, api.Notef(e.Rules[i].Origin, api.Warning, "RuleUnserved", e.Rules[i].Origin.Field, "%s", why))
		}
		notes = append(notes, backendNotes(x, r, &e.Rules[i], found == nil || acts, hints)...)
	}
	return notes
}

// ownedBy says whose the destination d is.
func ownedBy(owner *index.Route, d *effective.Destination) string {
	return fmt.Sprintf("%s owns %s, for routes of its kind come first", owner.Object.Ref, d.ID)
}

// maxHints bounds how often one route is told what it may have meant: looking for
// near names walks the mesh.
const maxHints = 20

// without says what becomes of the share of a backend of a rule that cannot be used.
func (x Mesh) without(b *route.BackendRef, rule *route.Rule) string {
	if b.Broken != 0 {
		return fmt.Sprintf("its share of the requests is answered with %d until then", b.Broken)
	}
	for i := range rule.Backends {
		if o := &rule.Backends[i]; o != b && o.Weight > 0 {
			if _, lost := x.FindBackend(*o); lost == nil {
				return "the others have its share of the requests until then"
			}
		}
	}
	return "every request is answered with 503 until then, for there is no other"
}

// backendNotes are those on the backends of a rule of r. Where the rule acts
// nowhere nothing follows from them.
func backendNotes(x Mesh, r *index.Route, rule *route.Rule, acts bool, hints *int) []api.Note {
	var notes []api.Note
	check := func(ref route.BackendRef, severity api.Severity, lose, fail string) {
		d, lost := x.FindBackend(ref)
		if !acts {
			lose = "nothing is lost by it, because the entry has no effect"
		} else if lost == nil && !r.Parsed.Connections && !d.Reads(ref.Speaks) {
			lost = services.WrongProtocol(d)
		}
		if lost == nil {
			if why := services.Unanswered(d, x.Answering(d), ref.Target.Tags); why != "" && ref.Weight > 0 && acts {
				notes = append(notes, api.Notef(rule.Origin, api.Warning, noEndpoints, ref.Field, "%s; %s", why, fail))
			}
			return
		}
		text := lost.Message
		if *hints < maxHints {
			text = lostText(lost, x)
			*hints++
		}
		notes = append(notes, api.Notef(rule.Origin, severity, lost.Code, ref.Field, "%s; %s", text, lose))
	}
	const closed = "its share of the connections is closed until then"
	for i := range rule.Backends {
		b := &rule.Backends[i]
		if r.Parsed.Connections {
			check(*b, api.Error, closed, closed)
		} else {
			check(*b, api.Error, x.without(b, rule), "its share of the requests is answered with 503 until then")
		}
	}
	for _, m := range rule.Mirrors {
		check(m, api.Warning, "nothing is mirrored until then", "nothing is mirrored until then")
	}
	return notes
}
