package conditions

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// callersNotes say why an item is about nobody, or about fewer than it says.
func callersNotes(x Mesh, it *index.Item) []api.Note {
	var out []api.Note
	add := func(at api.Path, text string) {
		out = append(out, api.Notef(it.Origin, api.Error, "UnsupportedValue", at, "%s", text))
	}
	at := it.Field.Field("matches")
	if len(it.Matches) > 0 && !x.HasIdentities() {
		add(at, "callers are told apart by mutual TLS, which the mesh does not have, so the rule is not applied; leave out matches to apply it to every caller")
		return out
	}
	for i, m := range it.Matches {
		if m.SNI != nil {
			add(at.Index(i).Field("sni"), "what the rule says stands at routes, and Envoy chooses no route by the name that callers ask for in TLS, so the match is not applied; match their spiffeID alone")
		}
	}
	return out
}
