package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// RouteAuthorizationNotes say why a policy on routes is not carried out as it is written.
func RouteAuthorizationNotes(x Mesh, p *index.Policy) []api.Note {
	if !x.AuthorizesRoutes(p) {
		return nil
	}
	origin, at := &api.Origin{Ref: p.Object.Ref}, api.Path("spec.targetRef")
	var notes []api.Note
	some, said := false, map[string]bool{}
	add := func(severity api.Severity, code, format string, args ...any) {
		n := api.Notef(origin, severity, code, at, format, args...)
		if !said[n.Code+n.Message] {
			said[n.Code+n.Message] = true
			notes = append(notes, n)
		}
	}
	for id, f := range x.FrontendsOf(p) {
		places, _ := x.Placements.Get(x.At, id)
		asked, foreign := x.HasSay(p, places)
		some = some || asked
		for _, row := range f.Rows {
			switch {
			case !row.By(p) || row.Closed == "":
			case asked || foreign == "":
				add(api.Error, "UnsupportedValue", "%s; until then nobody gets in who asks for what its rules take", row.Closed)
			default:
				add(api.Error, "UnsupportedValue", "%s; nothing asks who calls", row.Closed)
			}
		}
		if foreign != "" {
			add(map[bool]api.Severity{true: api.Warning, false: api.Error}[asked], api.CodeNoEffect,
				"its rules lead to workloads of another namespace, such as %s, about which a permission of namespace %s has no say; write one in theirs, or in a namespace of the mesh's operators", foreign, p.Object.HomeNamespace())
		}
		for _, o := range places.Overlaps(p) {
			add(api.Warning, "OverlappingRules", "%s", o)
		}
		if where, with := x.conflictOf(p, id, places); where != "" {
			add(api.Error, api.CodeConflicted, "%s goes by the permissions on the rules of %s, and can go by those of one alone, so what the rules of %s take is denied there; attach both to one route, or give each workloads of its own", where, with, id)
		}
	}
	if some && x.tellsPathsApart(p) && !p.Object.Shadow() {
		add(api.Warning, "EscapedSlashRefused", "its rules are told apart by paths, so that requests with %%2F or %%5C in their path are refused with 400, and // becomes /, at every inbound that they lead to, whoever calls and whatever the path; attach it to rules that take methods or headers alone to keep them")
	}
	if !some && len(notes) == 0 {
		if on, _ := x.PolicyRoutes.Get(x.At, index.ObjectKey(p.Object.Ref)); on != nil && len(on.Routes) > 0 {
			notes = append(notes, api.Notef(origin, api.Warning, api.CodeNoEffect, at, "none of the rules that it is attached to leads to a workload of the mesh, so nothing asks who calls"))
		}
	}
	return notes
}

// tellsPathsApart reports whether paths decide, where the policy has a say, whose rule holds.
func (m Mesh) tellsPathsApart(p *index.Policy) bool {
	for x := range m.PlacementsOf(p) {
		in, _ := m.Inbounds.Get(m.At, x.Plane)
		if in != nil && slices.ContainsFunc(in.List, func(i effective.InboundUse) bool {
			return index.JoinedAddress(i.Address, i.Port) == x.At && i.AsDocumented().TellsPathsApart()
		}) {
			return true
		}
	}
	return false
}

// conflictOf is the first dataplane at which others stand in the place of a frontend, and the
// other frontend.
func (m Mesh) conflictOf(p *index.Policy, id string, places *authorization.Placements) (where, with string) {
	if places == nil {
		return "", ""
	}
	for _, place := range places.List {
		all := m.FrontendsTo(place.Plane)
		if len(all) < 2 {
			continue
		}
		first, others := m.FrontendsAt(all, place)
		if !slices.ContainsFunc(others, func(w *authorization.Path) bool {
			return slices.ContainsFunc(w.Rows, func(r *authorization.Row) bool { return r.By(p) }) && m.IsFrontend(id, w, place)
		}) {
			continue
		}
		for _, other := range all {
			if m.IsFrontend(other, first, place) {
				with = other
				break
			}
		}
		d := index.Need(m.Dataplanes, m.At, place.Plane)
		return fmt.Sprintf("inbound %s of %s", portOfPlace(place.At), d.Object.Ref), with
	}
	return "", ""
}

// portOfPlace is the port of a place.
func portOfPlace(at string) string {
	_, port, _ := strings.Cut(at, "\x02")
	return port
}
