package effective

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
)

// CallerMatch are those whose certificate proves one ID, or one that lies below it by
// segments (spec/identity.md 1.5).
type CallerMatch struct {
	ID    string // spiffe://<trust domain>[/<path>]
	Below bool   // and whoever's ID lies below it
	Also  string // names that it proves beside it, all of them, as AlsoNamed writes them
}

// AlsoNamed writes names, which are sorted and have no spaces, as CallerMatch has them.
func AlsoNamed(names []string) string { return strings.Join(names, " ") }

// Domain is the trust domain of the callers.
func (c CallerMatch) Domain() string { return domainOf(c.ID) }

// Names are those that the callers prove beside their ID.
func (c CallerMatch) Names() []string { return strings.Fields(c.Also) }

// CallerPolicies is what holds of the requests of some callers.
type CallerPolicies struct {
	CallerMatch
	Policies Policies
}

func domainOf(id string) string {
	domain, _, _ := strings.Cut(strings.TrimPrefix(id, spiffe.Scheme), "/")
	return domain
}

// Match is c as a document says it that names nobody by more than an ID.
func (c CallerMatch) Match() policies.ValueMatch {
	if c.Below {
		return policies.ValueMatch{Type: "Prefix", Value: c.ID}
	}
	return policies.ValueMatch{Type: "Exact", Value: c.ID}
}

// Have reports whether a caller is among c whose certificate has these names. The first is of
// the trust domain of who signed it, and names behind one of another domain prove nothing (F2).
func (c CallerMatch) Have(names []string) bool {
	for _, name := range names {
		switch {
		case domainOf(name) != c.Domain():
			return false
		case name == c.ID || c.Below && spiffe.Under(name, c.ID):
			return !slices.ContainsFunc(c.Names(), func(also string) bool { return !slices.Contains(names, also) })
		}
	}
	return false
}
