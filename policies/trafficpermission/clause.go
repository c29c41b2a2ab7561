package trafficpermission

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
)

// Asked is a request, or a bare connection, as the inbound's proxy has it.
type Asked struct {
	// Names are those of the certificate that the caller has proved, none for a caller
	// without one; SNI is the name that it asked for in TLS.
	Names []string
	SNI   string
	// Request is nil where nobody reads requests.
	Request *match.Request
}

// clause holds of a request of which all its parts hold.
type clause struct {
	names     []nameTest // each has to hold of one of the caller's names
	anonymous bool
	sni       string
	http      [][]match.Condition // of each group one has to hold
	// unless are clauses of stronger items of from, none of which may hold.
	unless []*clause
	never  bool // it holds of nothing: what it asks can be asked of none
}

// nameTest compares a name of a caller: it holds of a name that is Exact, or lies under one
// of the prefixes by segment, or begins with Begins.
type nameTest struct {
	exact  []string
	under  []string
	begins string
}

func (n *nameTest) holds(name string) bool {
	return slices.Contains(n.exact, name) ||
		slices.ContainsFunc(n.under, func(p string) bool { return spiffe.Under(name, p) }) ||
		n.begins != "" && spiffe.Begins(name, n.begins)
}

// clauseOf is what an entry of a list asks. A prefix is read by segment where it lets in, and by
// byte where it refuses, so that neither reading lets anybody in (spec/identity.md 1.5).
func clauseOf(m *Match, refuses bool) clause {
	c := clause{anonymous: m.Anonymous != nil && *m.Anonymous}
	if m.SNI != nil {
		c.sni = m.SNI.Value
	}
	if id := m.SpiffeID; id != nil {
		test := nameTest{}
		switch {
		case id.Type == exact:
			test.exact = []string{id.Value}
		case refuses:
			test.begins = id.Value
		default:
			test.under = []string{strings.TrimSuffix(id.Value, "/")}
		}
		c.names = append(c.names, test)
	}
	if m.HTTP != nil {
		var err error
		if c.http, err = m.HTTP.conditions(); err != nil {
			return clause{never: !refuses, names: c.names, sni: c.sni, anonymous: c.anonymous} // refused as it is written, and narrower than nothing
		}
	}
	return c
}

// conditions are what m asks of requests; of each group one has to hold.
func (m *HTTPMatch) conditions() (out [][]match.Condition, err error) {
	if m.Path != nil {
		c, err := match.Written(match.OnPath, string(m.Path.Type), "", m.Path.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, []match.Condition{c})
	}
	if len(m.Methods) > 0 {
		var any []match.Condition
		for _, method := range m.Methods {
			c, err := match.Compare(match.OnMethod, "", match.Equal, 0, method)
			if err != nil {
				return nil, err
			}
			any = append(any, c)
		}
		out = append(out, any)
	}
	for _, h := range m.Headers {
		c, err := h.Condition()
		if err != nil {
			return nil, err
		}
		out = append(out, []match.Condition{c})
	}
	return out, nil
}

// caller is what an item of from asks: that the caller is of the mesh, and has the tags
// that the ref names (spec/kuma.md 4.5), or else one of ids, by which workloads are known that
// have no names made of tags.
func caller(ref *api.TargetRef, of policies.Callers, ids []string) clause {
	c := clause{}
	if ref.Kind == api.KindMeshService || ref.Kind == api.KindMeshServiceSubset {
		c.never = ref.Name == ""
		c.names = append(c.names, nameTest{exact: append([]string{spiffe.Scheme + of.Mesh + "/" + ref.Name}, ids...)})
	} else {
		own := nameTest{}
		for _, domain := range of.Domains {
			own.under = append(own.under, spiffe.Scheme+domain)
		}
		c.never, c.names = len(of.Domains) == 0, append(c.names, own)
	}
	for _, k := range slices.Sorted(maps.Keys(ref.Tags)) {
		c.names = append(c.names, nameTest{exact: append([]string{spiffe.OfTag(k, ref.Tags[k])}, ids...)})
	}
	return c
}

// Holds reports whether the entry holds of what is asked.
func (e *Entry) Holds(a *Asked) bool { return e.holds.holds(a) }

func (c *clause) holds(a *Asked) bool {
	return c.lacks(a) == ""
}

// lacks says why the clause does not hold of what is asked; empty where it does.
func (c *clause) lacks(a *Asked) string {
	switch {
	case c.never:
		return "it holds of nothing"
	case c.anonymous && len(a.Names) > 0:
		return "the caller has proved who it is"
	case len(c.names) > 0 && len(a.Names) == 0:
		return "the caller has proved no identity"
	}
	for i := range c.names {
		if !slices.ContainsFunc(a.Names, c.names[i].holds) {
			return "the caller is " + cmp.Or(firstSPIFFE(a.Names), a.Names[0])
		}
	}
	if c.sni != "" && c.sni != a.SNI {
		if a.SNI == "" {
			return "the caller asks for no name in TLS"
		}
		return "the caller asks for " + a.SNI + " in TLS"
	}
	if len(c.http) > 0 && a.Request == nil {
		return "nobody reads requests there"
	}
	for _, group := range c.http {
		if !slices.ContainsFunc(group, func(x match.Condition) bool { return x.Holds(a.Request) }) {
			return unlike(&group[0], a.Request)
		}
	}
	for _, x := range c.unless {
		if x.holds(a) {
			return "a stronger item of from is about the caller"
		}
	}
	return ""
}

func firstSPIFFE(names []string) string {
	for _, n := range names {
		if strings.HasPrefix(n, spiffe.Scheme) {
			return n
		}
	}
	return ""
}

func unlike(c *match.Condition, r *match.Request) string {
	switch c.On {
	case match.OnPath:
		return "the path is " + redact.Clip(r.Path)
	case match.OnMethod:
		return "the method is " + r.Method
	}
	return "the header " + c.Name + " is another"
}
