// Package toykind is the smallest kind of policy that authorizes: it keeps docs/add-a-policy-kind.md
// true. A MeshGuestList names the guests of an inbound, or of a rule of a route; nobody else gets in
// there. Where no list is about an inbound, it leaves who gets in to the other kinds.
//
// It promises that nothing outside this folder knows it: one entry in the list of kinds makes it a kind
// like the others. No program has that entry.
package toykind

import (
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// Name is that of the kind.
const Name = "MeshGuestList"

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:          Name,
	Plural:        "meshguestlists",
	Short:         "mgl",
	Title:         "Says who is a guest of a workload",
	New:           func() policies.Conf { return new(Conf) },
	Schema:        policies.SchemaOf[Conf](),
	Rules:         true,
	Inbound:       true,
	NoMatches:     true,
	RulesOnRoutes: true,
	TopKinds:      []string{api.KindMesh, api.KindDataplane, api.KindMeshSubset},
	Authorizer:    authorizer{},
	Example: `type: MeshGuestList
mesh: default
name: backend
spec: {targetRef: {kind: Dataplane, labels: {app: backend}}, rules: [{default: {guests: [{under: spiffe://default/ns/shop}, {tags: {team: ops}}]}}]}
`,
}

// Conf is what a rule says.
type Conf struct {
	// Guests are those who get in.
	Guests []Guest `json:"guests,omitzero" weft:"route,guests"`
}

// Guest is callers by one of two.
type Guest struct {
	// Under is the SPIFFE ID of a caller, or its beginning by whole segments.
	Under string `json:"under,omitempty"`
	// Tags are those that a caller has proved, all of them.
	Tags map[string]string `json:"tags,omitempty"`
}

// Validate wants that each guest is somebody.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if len(c.Guests) == 0 {
		f.Breaks(at.Field("guests"), "names nobody; add a guest")
	}
	for i, g := range c.Guests {
		at := at.Field("guests").Index(i)
		if (g.Under == "") == (len(g.Tags) == 0) {
			f.Breaks(at, "is nobody, or told in two ways; write under or tags")
		} else if _, err := spiffe.ParsePrefix(g.Under); g.Under != "" && err != nil {
			f.Breaks(at.Field("under"), "is no SPIFFE ID: %v", err)
		}
	}
	return f.Err()
}

// is reports whether a caller with names is the guest.
func (g *Guest) is(names []string) bool {
	if g.Under != "" {
		return slices.ContainsFunc(names, func(n string) bool { return spiffe.Under(n, g.Under) })
	}
	for k, v := range g.Tags {
		if !slices.Contains(names, spiffe.OfTag(k, v)) {
			return false
		}
	}
	return len(names) > 0
}

// entry is a guest, and where it stands.
type entry struct {
	*Guest
	origin *api.Origin
	layer  merge.LayerName
	field  api.Path
	index  int
	kri    string
}

// Effective is what holds at an inbound: of each list one entry has to be the caller.
type Effective struct {
	*Conf
	lists [][]entry
}

// authorizer lets guests in.
type authorizer struct{}

// OpenByDefault is true: what no list is about is not for guests alone.
func (authorizer) OpenByDefault() bool { return true }

// Collect makes one list of all documents that are no shadows.
func (authorizer) Collect(_ policies.Callers, said []policies.Collected) *policies.Effective {
	out, list, layers := &Effective{Conf: new(Conf)}, []entry{}, []merge.Layer(nil)
	for _, s := range said {
		if s.Shadow {
			continue
		}
		layers = append(layers, s.Layer)
		for _, leaf := range s.Leaves {
			guests, part := leaf.Value.([]Guest), "default"
			if s.Override {
				part = "override"
			}
			for i := range guests {
				list = append(list, entry{&guests[i], s.Origin, s.Name, s.Origin.Field.Field(part).Field("guests").Index(i), i, s.KRI})
			}
			out.Guests = append(out.Guests, guests...)
		}
	}
	out.lists = [][]entry{list}
	return &policies.Effective{Conf: out, Fields: merge.Gather(layers)}
}

// All asks every list.
func (authorizer) All(each []*policies.Effective) *policies.Effective {
	out, fields := &Effective{Conf: new(Conf)}, []merge.Field(nil)
	for _, e := range each {
		one := e.Conf.(*Effective)
		out.lists, out.Guests = append(out.lists, one.lists...), append(out.Guests, one.Guests...)
		for _, f := range e.Fields { // there is one field
			if len(fields) == 0 {
				fields = []merge.Field{{Field: f.Field}}
			}
			fields[0].Said = append(fields[0].Said, f.Said...)
		}
	}
	return &policies.Effective{Conf: out, Fields: fields}
}

// Callers are the beginnings of SPIFFE IDs in a document.
func (authorizer) Callers(s *policies.Spec) (out []policies.Named) {
	for i := range s.Rules {
		at := api.Path("spec.rules").Index(i)
		out = append(append(out, named(at.Field("default"), s.Rules[i].Default)...), named(at.Field("override"), s.Rules[i].Override)...)
	}
	return out
}

func named(at api.Path, conf policies.Conf) (out []policies.Named) {
	c, ok := conf.(*Conf)
	if !ok {
		return nil
	}
	for i, g := range c.Guests {
		if g.Under != "" {
			out = append(out, policies.Named{Field: at.Field("guests").Index(i).Field("under"), Name: g.Under, Prefix: true})
		}
	}
	return out
}

// AtConnections is empty: who calls is known without requests.
func (authorizer) AtConnections(*policies.Effective) []api.Note { return nil }

// AsksPlaintext is false: who proves nothing is nobody's guest, and let in where plaintext is.
func (authorizer) AsksPlaintext(*policies.Effective) bool { return false }

// Void is empty: every guest is somebody.
func (authorizer) Void(*policies.Spec) []policies.Void { return nil }

// Revoked is empty: a list takes nobody's identity away.
func (authorizer) Revoked(*policies.Spec) []policies.Named { return nil }

// Closed is empty: no list only denies.
func (authorizer) Closed(*policies.Effective) []api.Note { return nil }

// OnlyDenies is false.
func (authorizer) OnlyDenies(*policies.Spec) bool { return false }

// name is what an entry is told by.
func (e *entry) name() string { return e.kri + ":guests" + strconv.Itoa(e.index) }
