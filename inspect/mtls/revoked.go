package mtls

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
)

// RevokedIdentity is what became of an identity that is to be refused.
type RevokedIdentity struct {
	Mesh     string `json:"mesh"`
	SpiffeID string `json:"spiffeID"`
	// Document denies it over everything else; to delete it, or its entry, is to take back.
	Document string `json:"document"`
	Already  bool   `json:"already,omitempty"` // it was revoked before
	// Dataplanes are those that have the identity, the first of them by name.
	Dataplanes int      `json:"dataplanes"`
	Names      []string `json:"names,omitempty"`
	// Calls counts the destinations that they call, and that refuse them; Serves those to which they
	// answer, and to which nobody is led by them any more. Of Unserved nobody is left who answers, of
	// which the first are named.
	Calls    int      `json:"calls"`
	Serves   int      `json:"serves"`
	Unserved int      `json:"unserved"`
	Left     []string `json:"left,omitempty"`
	DryRun   bool     `json:"dryRun,omitempty"`
}

// Revoking is what it comes to that an identity of a mesh is revoked, to those who have it as callers
// and to those who call them.
func Revoking(m *resolve.Model, mesh, id string) RevokedIdentity {
	out := RevokedIdentity{Mesh: mesh, SpiffeID: id, Already: m.Revokes(mesh, id)}
	has, calls := map[api.Ref]bool{}, map[string]bool{}
	for r := range m.Dataplanes(mesh) {
		if r.Identity == nil || !slices.Contains(r.Identity.Names, id) {
			continue
		}
		has[r.Ref] = true
		if len(out.Names) < MostNames {
			out.Names = append(out.Names, r.Ref.FullName())
		}
		for _, c := range r.Clusters {
			calls[c.Destination.ID] = true
		}
	}
	served, alone := m.AnsweredBy(mesh, func(ref api.Ref) bool { return has[ref] })
	out.Dataplanes, out.Calls, out.Serves, out.Unserved = len(has), len(calls), len(served), len(alone)
	out.Left = alone[:min(len(alone), MostNames)]
	return out
}

// Text says in lines what became of it.
func (x RevokedIdentity) Text(w io.Writer, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	what := "is revoked"
	switch {
	case x.DryRun:
		what = "would be revoked"
	case x.Already:
		what = "was revoked before"
	}
	p.Line("%s %s by %s", s.Strong(x.SpiffeID), what, x.Document)
	text := fmt.Sprintf("%d dataplanes have it", x.Dataplanes)
	if x.Dataplanes == 1 {
		text = "1 dataplane has it"
	}
	if len(x.Names) > 0 {
		text += ": " + strings.Join(x.Names, ", ")
		if x.Dataplanes > len(x.Names) {
			text += ", …"
		}
	}
	p.Line("  %s", text)
	if x.Dataplanes > 0 {
		p.Line("  as callers: refused by %s that they call", terminal.Counted(x.Calls, "destination", "destinations"))
		p.Line("  as servers: nobody is led to them by %s that they answer for", terminal.Counted(x.Serves, "destination", "destinations"))
	}
	if x.Unserved > 0 {
		left := strings.Join(x.Left, ", ")
		if x.Unserved > len(x.Left) {
			left += ", …"
		}
		p.Line("  %s, so that calls fail with 503: %s", terminal.Counted(x.Unserved, "destination has nobody else who answers", "destinations have nobody else who answers"), left)
	}
	return p.Flush(w)
}

// MostNames bounds lists of names in answers that also count.
const MostNames = 10
