// Package envoys asks the Envoys of sidecars, and shows the configuration that they are given.
package envoys

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds"
)

// Handlers ask the Envoys of sidecars, and show what they are given.
type Handlers struct {
	*objects.Finder
	Envoys     Envoys // nil: none can be asked
	Renderer   *xds.Renderer
	KumaCompat bool
}

// Endpoints are the questions to the Envoy of a sidecar (spec/kuma.md 5, spec/contract.md 7).
func (h *Handlers) Endpoints() []endpoint.Operation {
	const dp = "GET /meshes/{mesh}/dataplanes/{name}"
	return []endpoint.Operation{
		endpoint.New(dp+"/xds", h.configDump, "The configuration that the sidecar's Envoy holds, without secrets; of one that cannot be asked what it was sent, marked so", endpoint.Says[endpoint.Anything](endpoint.InNamespace)),
		endpoint.New(dp+"/_config", h.dataplaneConfig, "The configuration that the sidecar's Envoy is given, computed and not fetched; with shadow policies on demand, and what they change",
			endpoint.Says[dataplaneConfig](withShadow, include, endpoint.InNamespace)),
		endpoint.New(dp+"/stats", h.askEnvoy(attach.Stats, attach.StatsJSON), "The statistics of the sidecar's Envoy, as text or with format=json", endpoint.SaysText(asText, endpoint.InNamespace).OrSays(endpoint.OfJSON, reflect.TypeFor[endpoint.Anything]())),
		endpoint.New(dp+"/clusters", h.askEnvoy(attach.Clusters, attach.ClustersJSON), "The clusters of the sidecar's Envoy with their endpoints, with format=json, or as text, which calls them as the statistics do: _ in place of :", endpoint.SaysText(asText, endpoint.InNamespace).OrSays(endpoint.OfJSON, reflect.TypeFor[endpoint.Anything]())),
	}
}

// dataplaneAt is the dataplane of a path.
func (h *Handlers) dataplaneAt(r *http.Request) (api.Ref, error) {
	ref := h.RefOf(r, api.KindDataplane)
	if _, ok := h.SnapshotOf(r.Context(), api.KindDataplane).Get(ref); ok {
		return ref, nil
	}
	m, err := h.Reader(r.Context())
	if err != nil {
		return ref, err
	}
	if _, err := inspect.Dataplane(m, ref); err != nil {
		return ref, httpapi.Unknown(err) // with what comes near
	}
	return ref, httpapi.NotFound()
}

// askEnvoy passes a question on, in the form that the query wants.
func (h *Handlers) askEnvoy(text, json string) endpoint.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ref, err := h.dataplaneAt(r)
		if err != nil {
			return err
		}
		switch r.URL.Query().Get("format") {
		case "json":
			return h.pass(w, r, ref, json, "application/json")
		case "", "text":
			if h.KumaCompat && text == attach.Clusters {
				named := &statNames{ResponseWriter: w}
				err := h.pass(named, r, ref, text, "text/plain; charset=utf-8")
				if err == nil {
					named.rest()
				}
				return err
			}
			return h.pass(w, r, ref, text, "text/plain; charset=utf-8")
		}
		return httpapi.BadField("format", "is neither text nor json; write one of them, or leave it out")
	}
}

// configDump is what the Envoy holds, else what it was sent.
func (h *Handlers) configDump(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.dataplaneAt(r)
	if err != nil {
		return err
	}
	err = h.pass(w, r, ref, attach.ConfigDump, "application/json")
	var refused httpapi.ProblemDetails
	if h.Envoys == nil || !errors.As(err, &refused) || refused.Detail != attach.ErrNoStream.Error() {
		return err
	}
	sent, ok, dumped := h.Envoys.Sent(r.Context(), ref)
	switch {
	case dumped != nil:
		return dumped
	case !ok:
		return err
	}
	httpapi.Write(w, http.StatusOK, "application/json", sent)
	return nil
}

// pass writes the answer as it comes. One that breaks off after its first byte breaks
// off here too: a client must not take it for whole.
func (h *Handlers) pass(w http.ResponseWriter, r *http.Request, ref api.Ref, path, contentType string) error {
	if h.Envoys == nil {
		return sidecars.CannotAsk(attach.ErrNoStream)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * attach.AnswerWithin)) // a server without deadlines needs none
	out := &passing{w: w, contentType: contentType}
	err := h.Envoys.Ask(r.Context(), ref, path, out)
	switch {
	case err == nil:
		out.begin()
		return nil
	case out.begun:
		panic(http.ErrAbortHandler)
	}
	return sidecars.CannotAsk(err)
}

// passing begins an answer with its first byte.
type passing struct {
	w           http.ResponseWriter
	contentType string
	begun       bool
}

func (p *passing) begin() {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", p.contentType)
		p.w.Header().Set("Cache-Control", "no-store")
		p.w.WriteHeader(http.StatusOK)
	}
}

// Write passes a part on.
func (p *passing) Write(part []byte) (int, error) {
	p.begin()
	return p.w.Write(part)
}

var asText = endpoint.Parameter{Name: "format", About: "The form of the answer", Schema: endpoint.OneOf("text", "json")}

// Envoys answers what only the Envoys of sidecars know.
type Envoys interface {
	// Ask writes the answer of the Envoy of a dataplane to one of the questions of
	// package attach, as it comes.
	Ask(ctx context.Context, dp api.Ref, path string, w io.Writer) error
	// Sent is what ADS sent to it, in the form of Envoy's own answer; false where it
	// has no stream.
	Sent(ctx context.Context, dp api.Ref) ([]byte, bool, error)
	// Resolving is beside how many dataplanes of a mesh its names resolve.
	Resolving(mesh string) int
}
