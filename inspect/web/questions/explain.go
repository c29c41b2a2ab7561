package questions

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/resolve"
)

// mostAbout is how many outbounds are told of at which one object has a say.
const mostAbout = 100

// aboutObject is the parameter that names one policy or route.
func (h *Handlers) aboutObject() endpoint.Parameter {
	return endpoint.Parameter{Name: "about", About: "Only where one policy or route has a say: KIND/NAME", Schema: endpoint.Text(1024),
		Reads: func(text string) error { _, err := h.attachedAs(text); return err }}
}

// explain answers what applies to a dataplane, or a page of it.
func (h *Handlers) explain(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := h.ReaderAt(r, api.KindDataplane)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	brief, err := endpoint.Flag(q, "brief")
	if err != nil {
		return err
	}
	sel, err := objects.SelectionOf(q)
	if err != nil {
		return err
	}
	part := inspect.ListOptions{Offset: sel.Offset, Size: sel.Size, Name: sel.Name, Brief: brief}
	if q.Get(explainSize.Name) == "" {
		part.Size = 0
	}
	e, err := h.explanation(m, ref, q, part)
	if err != nil {
		return err
	}
	if end := part.Offset + len(e.Outbounds); len(e.Outbounds) > 0 && end < e.OutboundsTotal && part.Size > 0 {
		next := objects.NextPage(r, end)
		e.Next = &next
	}
	e.Connected = new(bool)
	if c, ok := h.Sidecars.Sidecar(ref); ok {
		e.Acked, *e.Connected = c.Acked, c.Connected
	}
	if !*e.Connected {
		e.Notes = append(e.Notes, h.notKnown()...)
	}
	httpapi.Answer(w, http.StatusOK, e)
	return nil
}

// explanation is a part of what applies to a dataplane; of what one object has a say in where the
// query asks for that.
func (h *Handlers) explanation(m *resolve.Reader, ref api.Ref, q url.Values, part inspect.ListOptions) (explain.Explanation, error) {
	about := q.Get("about")
	if about == "" {
		e, err := explain.PartOf(m, ref, q.Get("to"), part)
		return e, httpapi.Unknown(err)
	}
	object, err := h.attachedAs(about)
	if err != nil {
		return explain.Explanation{}, err
	}
	most := -1
	if part.Size == 0 && part.Offset == 0 {
		most = mostAbout
	}
	e, err := explain.About(m, ref, q.Get("to"), object, part, most)
	return e, httpapi.Unknown(err)
}

// attachedAs is the policy or route of which KIND/NAME speaks.
func (h *Handlers) attachedAs(text string) (api.Ref, error) {
	kind, name, ok := strings.Cut(text, "/")
	if t, known := h.Catalog.Type(kind); text != "" && (!ok || !known || !t.Policy && !t.Route) {
		return api.Ref{}, httpapi.BadField("about", strconv.Quote(redact.Clip(text))+" names no policy or route; write KIND/NAME")
	}
	return api.Ref{Kind: kind, Name: name}, nil
}

var explainSize = endpoint.Parameter{Name: "size", About: "How many outbounds to tell of at most; all where it is not given", Schema: endpoint.Schema{"type": "integer", "minimum": 1, "maximum": endpoint.LargestPage}}

var partOfID = endpoint.Parameter{Name: "name", About: "A part of the ids of the destinations of the outbounds to tell of", Schema: endpoint.Text(1024)}

var toService = endpoint.Parameter{Name: "to", About: "One destination: its id, its name, or name:port", Schema: endpoint.Text(1024)}

var inBrief = endpoint.Parameter{Name: "brief", About: "Without what policies say at outbounds", Schema: endpoint.Schema{"type": "boolean", "default": false}}
