package conditions

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/resolve"
)

// certificates are how the dataplanes fare whose identity one document says.
type certificates struct {
	selected int // have it
	proved   int // whose sidecar has shown a certificate of it
	without  []inspect.Uncertified
	refs     []api.Ref // of all of them
	domain   string    // the trust domain of their names; empty where they have none
}

type certificatesKey string

// certificatesIn are how the dataplanes of a mesh fare, by the document that says who they are.
// It is found out once for each model that is asked.
func certificatesIn(m *resolve.Reader, mesh string) map[api.Ref]*certificates {
	return resolve.Cached(m, certificatesKey(mesh), func() map[api.Ref]*certificates {
		out, uncertified := map[api.Ref]*certificates{}, m.Uncertified(mesh)
		for r := range m.Dataplanes(mesh) {
			if r.Identity == nil {
				continue
			}
			c := out[r.Identity.Origin.Ref]
			if c == nil {
				c = &certificates{}
				out[r.Identity.Origin.Ref] = c
			}
			c.refs = append(c.refs, r.Ref)
			if len(r.Identity.Names) > 0 {
				if id, err := spiffe.Parse(r.Identity.Names[0]); err == nil {
					c.domain = id.Domain
				}
			}
			if c.selected++; r.TLS {
				c.proved++
			}
			if why, ok := uncertified(r.Ref); ok {
				c.without = append(c.without, inspect.Uncertified{Dataplane: r.Ref.FullName(), Code: why.Code, Message: why.Message, Ref: r.Ref})
			}
		}
		return out
	})
}

// Lack adds to authorities how many dataplanes get no certificate of each.
func Lack(m *resolve.Reader, mesh string, all []mtls.Authority) {
	if !m.Identities(mesh) {
		return
	}
	without := map[string]map[string]int{}
	for owner, c := range certificatesIn(m, mesh) {
		by := map[string]int{}
		for _, u := range c.without {
			by[u.Code]++
		}
		without[owner.String()] = by
	}
	for i := range all {
		by := without[all[i].Of]
		for _, code := range slices.Sorted(maps.Keys(by)) {
			all[i].Lacking = append(all[i].Lacking, mtls.Lacking{Code: code, Count: by[code]})
		}
	}
}

// uncertified are all dataplanes of a mesh that get no certificate, as far as who asks sees them.
func uncertified(m *resolve.Reader, mesh string, sees func(api.Ref) bool) (out []inspect.Uncertified) {
	if !m.Identities(mesh) {
		return nil
	}
	all := certificatesIn(m, mesh)
	for _, owner := range slices.SortedFunc(maps.Keys(all), api.Ref.Compare) {
		for _, u := range all[owner].without {
			if sees(u.Ref) {
				out = append(out, u)
			}
		}
	}
	return out
}
