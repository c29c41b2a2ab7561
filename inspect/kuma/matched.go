package kuma

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
)

// InspectedDataplane is GET …/dataplanes/{dp}/policies: what takes part on a dataplane, by what
// it is attached to (spec/kuma.md 5.4). All that weft has stands at the dataplane as a whole.
type InspectedDataplane struct {
	Kind  string        `json:"kind"`
	Total int           `json:"total"`
	Items []PolicyEntry `json:"items"`
}

// PolicyEntry is what is attached to one thing.
type PolicyEntry struct {
	Type    string                     `json:"type"` // dataplane
	Name    string                     `json:"name"` // empty for the dataplane itself
	Service string                     `json:"service"`
	Matched map[string][]MatchedPolicy `json:"matchedPolicies"` // by type
}

// MatchedPolicy is a policy or route that takes part.
type MatchedPolicy struct {
	Type     string    `json:"type"`
	Mesh     string    `json:"mesh"`
	Name     string    `json:"name"`
	Created  time.Time `json:"creationTime"`
	Modified time.Time `json:"modificationTime"`
	KRI      string    `json:"kri"`
}

// Matched lists the policies and routes that take part on a dataplane.
func Matched(m *resolve.Reader, c *api.Catalog, dp api.Ref) (InspectedDataplane, error) {
	r, err := inspect.Dataplane(m, dp)
	if err != nil {
		return InspectedDataplane{}, err
	}
	out := InspectedDataplane{Kind: "SidecarDataplane", Items: []PolicyEntry{}}
	all := map[string][]MatchedPolicy{}
	for _, ref := range r.Objects() {
		t, _ := c.Type(ref.Kind)
		o, ok := m.Snapshot().Get(ref)
		if !ok || !t.Policy && !t.Route {
			continue
		}
		all[ref.Kind] = append(all[ref.Kind], MatchedPolicy{ref.Kind, ref.Mesh, ref.FullName(), o.Created, o.Modified, c.KRI(c.Shown(o))})
	}
	if len(all) > 0 {
		out.Total, out.Items = 1, append(out.Items, PolicyEntry{Type: "dataplane", Matched: all})
	}
	return out, nil
}
