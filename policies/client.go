package policies

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
)

// CheckCaller checks a match of a proven identity: Exact or Prefix.
func (m *ValueMatch) CheckCaller(f *Findings, at api.Path) {
	m.check(f, at, spiffeID, "Exact", "Prefix")
}

// CheckSNI checks a match of the name that a client sends: Exact.
func (m *ValueMatch) CheckSNI(f *Findings, at api.Path) { m.check(f, at, dnsName, "Exact") }

// check checks a comparison of one of types, whose value sound accepts.
func (m *ValueMatch) check(f *Findings, at api.Path, sound func(f *Findings, at api.Path, value string, prefix bool), types ...string) {
	known := false
	for _, t := range types {
		known = known || m.Type == t
	}
	if !known {
		f.OneOf(at.Field("type"), m.Type, types...)
	}
	if m.Value == "" {
		f.Breaks(at.Field("value"), "is missing; write what is compared")
		return
	}
	sound(f, at.Field("value"), m.Value, m.Type == "Prefix")
}

// spiffeID wants spiffe://trust-domain/path, or a beginning of one.
func spiffeID(f *Findings, at api.Path, value string, prefix bool) {
	parse := spiffe.Parse
	if prefix {
		parse = spiffe.ParsePrefix
	}
	if _, err := parse(value); err != nil {
		f.Breaks(at, "is no SPIFFE ID: %v", err)
	}
}

// dnsName wants a name as a client sends it in SNI.
func dnsName(f *Findings, at api.Path, value string, _ bool) {
	f.Include(api.ValidateHostname(at, value))
}
