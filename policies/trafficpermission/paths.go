package trafficpermission

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// CodeEscapedSlash is that of warnings about an entry that names a path: Envoy refuses other spellings
// of paths for whole inbounds, not for the requests of a caller or a rule (spec/identity.md 4.4).
const CodeEscapedSlash = "EscapedSlashRefused"

// readsPaths warns of the entries of a document because of which inbounds take no two spellings of a
// path.
func readsPaths(s *policies.Spec, at api.Path) error {
	var f policies.Findings
	add := func(at api.Path, conf policies.Conf) {
		c, ok := conf.(*Conf)
		if !ok {
			return
		}
		for _, l := range c.lists() {
			for i := range l.matches {
				if h := l.matches[i].HTTP; h != nil && h.Path != nil {
					f.Warns(at.Field(l.name).Index(i).Field("http").Field("path"), CodeEscapedSlash,
						"requests with %%2F or %%5C in their path are refused with 400 from then on, and // becomes /, at every inbound that it is about, whoever calls and whatever the path; to keep them, say who may by names, methods and headers alone")
				}
			}
		}
	}
	for i := range s.Rules {
		here := at.Field("rules").Index(i)
		add(here.Field("default"), s.Rules[i].Default)
		add(here.Field("override"), s.Rules[i].Override)
	}
	return f.Err()
}
