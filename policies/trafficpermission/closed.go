package trafficpermission

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
)

// CodeNobodyAllowed is that of notes about documents that only deny, where nothing allows.
const CodeNobodyAllowed = "NobodyAllowed"

// Closed are notes on the entries that deny some callers where nothing that holds lets anybody in:
// who wrote them meant the others to be let in. Who denies everybody has said so.
func (authorizer) Closed(e *policies.Effective) (out []api.Note) {
	p := Of(e)
	if p == nil || len(p.Allow) > 0 {
		return nil
	}
	for _, x := range p.Deny {
		if !revokes(x.Origin) && !x.deniesAll() {
			out = append(out, api.Note{Origin: x.Origin, Severity: api.Warning, Code: CodeNobodyAllowed, Field: x.Field(),
				Message: "nothing lets anybody in there, so that all callers are denied and not these alone: a permission of its own takes the place of the one that came with the mesh; add an allow"})
		}
	}
	return out
}

// OnlyDenies reports whether a document denies and allows nothing.
func (authorizer) OnlyDenies(s *policies.Spec) bool {
	denies, allows := false, false
	look := func(conf policies.Conf) {
		c, ok := conf.(*Conf)
		if !ok {
			return
		}
		denies = denies || len(c.Deny) > 0 || c.Action != nil && *c.Action == denyAction
		allows = allows || len(c.Allow)+len(c.AllowWithShadowDeny) > 0 || c.Action != nil && *c.Action != denyAction
	}
	for i := range s.Rules {
		look(s.Rules[i].Default)
		look(s.Rules[i].Override)
	}
	for i := range s.From {
		look(s.From[i].Default)
		look(s.From[i].Override)
	}
	return denies && !allows
}

// deniesAll reports whether an entry denies all of a trust domain, or all who have proved nothing.
func (e *Entry) deniesAll() bool {
	if e.From || len(e.holds.http) > 0 || e.holds.sni != "" {
		return false
	}
	if e.holds.anonymous {
		return true
	}
	for _, n := range e.holds.names {
		if n.begins == "" || strings.Contains(strings.TrimSuffix(strings.TrimPrefix(n.begins, spiffe.Scheme), "/"), "/") {
			return false
		}
	}
	return true
}
