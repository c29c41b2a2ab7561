package trafficpermission

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// longList is from how many entries on a list costs what callers feel: 2,000 of them cost a
// request a millisecond (spec/identity.md 3.4).
const longList = 200

// Callers are those of callers in the rules of a document.
func (authorizer) Callers(s *policies.Spec) []policies.Named {
	var out []policies.Named
	add := func(at api.Path, conf policies.Conf) {
		c, ok := conf.(*Conf)
		if !ok {
			return
		}
		for _, l := range c.lists() {
			for i := range l.matches {
				if id := l.matches[i].SpiffeID; id != nil {
					out = append(out, policies.Named{Field: at.Field(l.name).Index(i).Field("spiffeID").Field("value"), Name: id.Value, Prefix: id.Type != exact})
				}
			}
		}
	}
	for i := range s.Rules {
		at := api.Path("spec.rules").Index(i)
		add(at.Field("default"), s.Rules[i].Default)
		add(at.Field("override"), s.Rules[i].Override)
	}
	return out
}

// warn tells of lists that are sound, and may not be what they seem.
func (c *Conf) warn(f *policies.Findings, at api.Path) {
	for _, l := range c.lists() {
		if len(l.matches) > longList {
			f.Warns(at.Field(l.name), "LongList", "the list has %d entries, and each request is compared with all of them; name callers by a prefix, or in fewer entries", len(l.matches))
		}
	}
	for i := range c.Deny {
		if h := c.Deny[i].HTTP; h != nil && h.Path != nil {
			f.Warns(at.Field(deny).Index(i).Field("http").Field("path"), "DenyByPath",
				"a path that only the workload takes for the same, in other case or behind a semicolon, is not denied; deny all and allow the paths that are meant")
		}
	}
}
