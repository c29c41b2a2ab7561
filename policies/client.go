package policies

import (
	"strings"

	"github.com/weftmesh/weft/api"
)

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
	rest, ok := strings.CutPrefix(value, "spiffe://")
	domain, path, hasPath := strings.Cut(rest, "/")
	lower := "abcdefghijklmnopqrstuvwxyz0123456789-_."
	const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	ok = ok && domain != "" && strings.Trim(domain, lower) == ""
	if hasPath {
		for i, segment := range strings.Split(path, "/") {
			last := prefix && i == strings.Count(path, "/")
			empty := segment == "" || segment == "." || segment == ".."
			ok = ok && (!empty || last && segment == "") && strings.Trim(segment, lower+upper) == ""
		}
	}
	if !ok {
		f.Breaks(at, "%q is no SPIFFE ID; write spiffe://trust-domain/path", api.Clip(value))
	}
}

// dnsName wants a name as a client sends it in SNI.
func dnsName(f *Findings, at api.Path, value string, _ bool) {
	f.Include(api.ValidateHostname(at, value))
}
