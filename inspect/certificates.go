package inspect

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve"
)

// Uncertified is a dataplane that gets no certificate, and why.
type Uncertified struct {
	Dataplane string `json:"dataplane"`
	Code      string `json:"code"` // SpiffeIDInvalid, NoProof, IdentityRefused, IdentityMismatch, NoSVID or NoTrust
	Message   string `json:"message"`
	ref       api.Ref
}

// certificates are how the dataplanes fare whose identity one document says.
type certificates struct {
	selected int // have it
	proved   int // whose sidecar has shown a certificate of it
	without  []Uncertified
	refs     []api.Ref // of all of them
	domain   string    // the trust domain of their names; empty where they have none
}

type certificatesKey string

// certificatesIn are how the dataplanes of a mesh fare, by the document that says who they are.
// It is found out once for each model that is asked.
func certificatesIn(m *resolve.Reader, mesh string) map[api.Ref]*certificates {
	return resolve.Known(m, certificatesKey(mesh), func() map[api.Ref]*certificates {
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
				c.without = append(c.without, Uncertified{r.Ref.FullName(), why.Code, why.Message, r.Ref})
			}
		}
		return out
	})
}

// Lacking are the dataplanes that get no certificate of an authority for one reason.
type Lacking struct {
	Code  string `json:"code"` // as of Uncertified
	Count int    `json:"count"`
}

// Lack adds to authorities how many dataplanes get no certificate of each.
func Lack(m *resolve.Reader, mesh string, all []Authority) {
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
			all[i].Lacking = append(all[i].Lacking, Lacking{code, by[code]})
		}
	}
}

// uncertified are all dataplanes of a mesh that get no certificate, as far as who asks sees them.
func uncertified(m *resolve.Reader, mesh string, sees func(api.Ref) bool) (out []Uncertified) {
	if !m.Identities(mesh) {
		return nil
	}
	all := certificatesIn(m, mesh)
	for _, owner := range slices.SortedFunc(maps.Keys(all), api.Ref.Compare) {
		for _, u := range all[owner].without {
			if sees(u.ref) {
				out = append(out, u)
			}
		}
	}
	return out
}
