// Package plan says what a change of documents changes before it is made: at which
// dataplanes, which field of which route, from what to what and by whose word, and which
// of Envoy's resources (spec/contract.md 9).
//
// It compares two models, whatever lies between them. What several dataplanes share is
// compared once, so that a plan costs what changes, not how many have it.
package plan

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/store"
)

// Plan is what would change.
type Plan struct {
	// From is the revision of the documents that it is a change of.
	From       uint64        `json:"from"`
	Changes    []step.Change `json:"changes"`
	Dataplanes Dataplanes    `json:"dataplanes"`
	Effects    []Effect      `json:"effects"`
	Envoy      []Resource    `json:"envoy"`
	// Draining is how many listeners, of all dataplanes together, are made anew or taken away: the
	// connections through them drain, which is to say that they end gracefully.
	Draining int `json:"draining,omitempty"`
	// Permissions are the verdicts about callers that change, those first that let in more.
	Permissions []access.Access `json:"permissions,omitempty"`
	// PermissionsCut is how many are not listed.
	PermissionsCut int                 `json:"permissionsCut,omitempty"`
	Warnings       []inspect.Violation `json:"warnings"`
	// Notes are on documents that were left out, and on dataplanes that a bug keeps from being compared.
	Notes []api.Note `json:"notes,omitempty"`
	// Cut is how many effects and resources are not listed.
	Cut int `json:"cut,omitempty"`
}

// Dataplanes are those at which something changes.
type Dataplanes struct {
	Total    int `json:"total"` // in the meshes of what changes; of who may not see all, as Affected
	Affected int `json:"affected"`
	step.Listed
}

// Effect is one thing that changes at dataplanes: a field of a policy, or a part of a route.
type Effect struct {
	Mesh string `json:"mesh"`
	step.Listed
	Destination *sim.Destination `json:"destination,omitempty"` // as they call it
	Inbound     *Inbound         `json:"inbound,omitempty"`     // of theirs
	Route       *Route           `json:"route,omitempty"`       // to the destination; nil for what holds for all of it
	// Policy is a kind of policy of which Field changes. Else Section is what changes.
	Policy  string  `json:"policy,omitempty"`
	Field   string  `json:"field,omitempty"`
	Section Section `json:"part,omitempty"`
	// Before and After are null where there is nothing.
	Before any `json:"before"`
	After  any `json:"after"`
	// Origin is whose word holds afterwards, or of what goes whose held, OriginBefore whose
	// held before where that was somebody else.
	Origin       *api.Origin `json:"origin,omitempty"`
	OriginBefore *api.Origin `json:"originBefore,omitempty"`
}

// Section is a part of what a dataplane has, but for the fields of policies.
type Section string

// Of a rule of a route all of its parts are told when it is new, and its place alone when it goes.
const (
	SectionDataplane Section = "dataplane" // its name
	SectionOutbound  Section = "outbound"  // the addresses at which a destination is called
	SectionProtocol  Section = "protocol"  // as it is read at those
	SectionRoute     Section = "route"     // its place among the routes of the destination, from 0
	PartMatches      Section = "matches"
	PartBackends     Section = "backends"
	PartMirrors      Section = "mirrors"
	PartFilters      Section = "filters"
	SectionAction    Section = "action"    // what the proxy answers, how it chooses endpoints, whether WebSockets pass
	SectionOrigins   Section = "origins"   // the rules that it was merged from
	SectionEndpoints Section = "endpoints" // of a destination: those that go, and those that come
	SectionInbound   Section = "inbound"   // its address
	SectionNames     Section = "names"     // that its workload may call where its sidecar answers DNS: those that go, and those that come
)

// Route names a rule, or the name in TLS of those whose connections go on.
type Route struct {
	Key        string `json:"key"`
	Name       string `json:"name"`
	ServerName string `json:"serverName,omitempty"`
	// Backend names the one whose connections it is about, where a rule has several.
	Backend string `json:"backend,omitempty"`
	// Text is what it matches, in words.
	Text string `json:"text,omitempty"`
}

// Inbound names a port of a workload.
type Inbound struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    uint32 `json:"port"`
}

// Resource is a resource of Envoy's that changes at dataplanes.
type Resource struct {
	Mesh string `json:"mesh"`
	step.Listed
	Type   string `json:"type"` // as Listener
	Name   string `json:"name"`
	Action string `json:"action"` // create, update or delete
	// Fields are what changes in it, where that is asked for, as it is at the dataplane FieldsAt.
	Fields    []Field `json:"fields,omitempty"`
	FieldsAt  string  `json:"fieldsAt,omitempty"`
	FieldsCut int     `json:"fieldsCut,omitempty"` // how many are not listed, at least
}

// Of is the plan of a step whose writes have results.
func Of(s step.Comparison, results []store.Result) Plan {
	d := newDiffer(s.Renderer)
	affected := map[api.Ref]bool{}
	for _, ref := range s.Affected {
		if s.Wanted != nil && !s.Wanted() {
			break
		}
		if s.See != nil && !s.See(ref) {
			continue
		}
		before, _ := s.Before.Dataplane(ref)
		after, _ := s.After.Dataplane(ref)
		if d.safely(ref, before, after) {
			affected[ref] = true
		}
	}
	d.names(s, affected)
	b := step.NewBudget(step.MostNames)
	p := Plan{From: s.Before.Snapshot().Revision(), Changes: step.ChangesOf(results), Notes: d.notes, Dataplanes: dataplanes(s, affected, &b), Warnings: []inspect.Violation{}}
	var more int
	p.Effects, p.Cut = d.told(&b)
	p.Envoy, more = d.resources(&b)
	p.Cut, p.Draining = p.Cut+more, d.draining()
	if s.Print != nil {
		d.fields(&p, s.Print)
	}
	p.Permissions, p.PermissionsCut = access.Between(s, &b)
	for _, v := range slices.Concat(spelled(s), Slid(s.Before, s.After, s.Touched...), warnings(s, d)) {
		p.Warnings = append(p.Warnings, inspect.ViolationOf(v))
	}
	return p
}

func dataplanes(s step.Comparison, affected map[api.Ref]bool, b *step.Budget) Dataplanes {
	out := Dataplanes{Affected: len(affected)}
	meshes := map[string]bool{}
	for _, ref := range s.Touched {
		meshes[meshOf(ref)] = true
	}
	var on []api.Ref
	for ref := range affected {
		meshes[ref.Mesh] = true
		on = append(on, ref)
	}
	for mesh := range meshes {
		out.Total += max(s.Before.Snapshot().Count(api.KindDataplane, mesh), s.After.Snapshot().Count(api.KindDataplane, mesh))
	}
	if s.See != nil { // how many others there are is not told
		out.Total = len(on)
	}
	slices.SortFunc(on, api.Ref.Compare)
	out.Listed = b.Name(len(on), func(i int) api.Ref { return on[i] })
	return out
}

// meshOf is the mesh of an object: a Mesh is its own.
func meshOf(ref api.Ref) string {
	if ref.Kind == api.KindMesh {
		return ref.Name
	}
	return ref.Mesh
}
