package mtls

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// CodePlaintextClients is that of a warning: an inbound is to take plain text no more, and
// somebody has called it so.
const CodePlaintextClients = "PlaintextClients"

// plainWindow is for how long somebody who called in plain text is told of.
const plainWindow = 10 * time.Minute

// PlaintextClients are warnings on those of objects by which inbounds of a mesh take plain text no
// more, where somebody has called these in plain text of late (spec/identity.md 5, phase 4).
func PlaintextClients(q *resolve.Reader, objects []*api.Object, now time.Time, known func(api.Ref) (Observed, bool)) (out []*api.Violation) {
	for _, s := range switchesOf(objects) {
		if clients := refusedClients(q, s.mesh, now, known); len(clients) > 0 {
			out = append(out, s.warn(CodePlaintextClients, "inbounds that take mutual TLS alone were called in plain text in the last 10 minutes, which is refused now: %s; give these clients sidecars, or let a MeshTLS of mode Permissive be about these inbounds", inspect.FirstOf(clients)))
		}
	}
	return out
}

// refusedClients are those who have called strict inbounds in plain text, in words.
func refusedClients(q *resolve.Reader, mesh string, now time.Time, known func(api.Ref) (Observed, bool)) (out []string) {
	names := callerNames{q: q, mesh: mesh}
	for r := range q.Dataplanes(mesh) {
		strict := func(port uint32) bool {
			return slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool {
				return i.Port == port && i.TLS != nil && i.TLS.Mode == effective.Strict
			})
		}
		s, ok := known(r.Ref)
		if !ok {
			continue
		}
		for _, c := range names.plainSenders(r, s.Senders) {
			if now.Sub(c.Last) <= plainWindow && strict(c.Port) {
				out = append(out, fmt.Sprintf("%s at %s port %d", c.From, c.To, c.Port))
			}
		}
		for _, i := range r.Inbounds {
			if n := s.at(i.Inbound).Plain.Open; n > 0 && strict(i.Port) {
				out = append(out, fmt.Sprintf("%d open connections at %s port %d", n, r.Ref.FullName(), i.Port))
			}
		}
	}
	return out
}
