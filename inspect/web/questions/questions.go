// Package questions answers what applies to dataplanes and why, what would happen to requests, how objects
// fare, and what is wrong.
package questions

import (
	"context"
	"io"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// Handlers answer what applies to dataplanes, and how objects fare.
type Handlers struct {
	*objects.Finder
	Sidecars sidecars.Sidecars
	Fleet    sidecars.FleetCounts
	// Ask writes the answer of the Envoy of a dataplane; nil where none can be asked.
	Ask func(ctx context.Context, dp api.Ref, path string, w io.Writer) error
	// Problems are documents that are not served as they were written.
	Problems func() []*api.Violation
	// Unknown says what is not known now; nil where all is.
	Unknown func() []api.Note
	// Running is what is wrong with what runs; nil knows of nothing.
	Running func() []api.Note
	// Traffic is what is wrong with requests; nil where none are counted.
	Traffic func(context.Context, *resolve.Reader) []conditions.OwnedProblem
	Zone    string
}

// Endpoints are the questions about dataplanes, objects and meshes.
func (h *Handlers) Endpoints() []endpoint.Operation {
	const dp, object = "/meshes/{mesh}/dataplanes/{name}", "/meshes/{mesh}/{plural}/{name}"
	return append(h.viewEndpoints(),
		endpoint.New("GET "+dp+"/_explain", h.explain, "Everything that applies to a dataplane, and why", endpoint.Says[explain.Explanation](toService, partOfID, explainSize, endpoint.PageOffset, h.aboutObject(), inBrief, endpoint.InNamespace)),
		endpoint.New("POST "+dp+"/_simulate", h.simulate, "What would happen to a request", endpoint.Reads[wire.Request](endpoint.Says[sim.Verdict](endpoint.InNamespace))),
		endpoint.New("GET "+object+"/_explain", h.explainObject, "Where a policy or route takes part, and where not", endpoint.Says[conditions.ObjectExplanation](endpoint.InNamespace)),
		endpoint.New("GET "+object+"/_resources/dataplanes", h.selected, "The dataplanes that a policy or route selects", endpoint.Lists[*kuma.Meta](endpoint.InNamespace)),
		endpoint.New("GET "+object+"/dataplanes", h.attached, "The same, in the older form", endpoint.Lists[kuma.AttachedDataplane](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/_status", h.status, "Conditions of policies, routes and documents about identities, and how far sidecars follow", endpoint.Says[conditions.Overview](endpoint.StatusSize, endpoint.PageOffset, endpoint.PartOfName, byKind, byFare)),
		endpoint.New("GET /meshes/{mesh}/_permissions", h.permissions, "Who may call what, and which document says so", endpoint.Says[permissions.Permissions](fromCaller, toCalled, withCounts)),
		endpoint.New("GET /_problems", h.problems, "Everything that is wrong, by who has to act", endpoint.Says[problemList](endpoint.StatusSize, endpoint.PageOffset, endpoint.PartOfName)),
	)
}

func (h *Handlers) explainObject(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := h.attachable(r)
	if err != nil {
		return err
	}
	e, err := conditions.ExplainObject(m, ref, sidecars.FindIn(h.Fleet, h.Sidecars, m, ref.Mesh), h.Problems()...)
	if err != nil {
		return httpapi.Unknown(err)
	}
	httpapi.Answer(w, http.StatusOK, e)
	return nil
}

// notKnown are the notes about what is not known now.
func (h *Handlers) notKnown() []api.Note {
	if h.Unknown == nil {
		return nil
	}
	return h.Unknown()
}
