package questions

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/permissions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/sidecar/attach"
)

var fromCaller = endpoint.Parameter{Name: "from", About: "One dataplane that calls, by its name", Schema: endpoint.Text(1024)}

var toCalled = endpoint.Parameter{Name: "to", About: "One service that is called, as kuma.io/service names it", Schema: endpoint.Text(1024)}

var withCounts = endpoint.Parameter{Name: "counts", About: "Whether Envoys are asked what shadows of permissions would have refused, at most 50 of them", Schema: endpoint.Schema{"type": "boolean", "default": false}}

// permissions answers who may call what: of one dataplane by from, at one service by to; with what
// shadows would have refused where counts asks for that.
func (h *Handlers) permissions(w http.ResponseWriter, r *http.Request) error {
	q, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	query := r.URL.Query()
	counts, err := endpoint.Flag(query, "counts")
	if err != nil {
		return err
	}
	mesh, to := r.PathValue("mesh"), query.Get("to")
	out, err := permissions.Of(q, mesh, query.Get("from"), to)
	if err != nil {
		return httpapi.Unknown(err)
	}
	if counts {
		asked, left := permissions.CountedIn(q, mesh, to)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * attach.AnswerWithin)) // a server without deadlines needs none
		out.Counts = permissions.CountShadows(q, mesh, to, h.statsOf(r.Context(), asked))
		out.Counts.Left = left
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// How many Envoys are asked at once for one answer, and how long it waits for them.
const (
	askedAtOnce = 8
	statsWithin = 5 * time.Second
)

// statsOf asks Envoys for the statistics that are not 0; nil is of one that does not answer.
func (h *Handlers) statsOf(ctx context.Context, refs []api.Ref) map[api.Ref][]byte {
	ctx, cancel := context.WithTimeout(ctx, statsWithin)
	defer cancel()
	var mu sync.Mutex
	out := map[api.Ref][]byte{}
	var asking errgroup.Group
	asking.SetLimit(askedAtOnce)
	for _, ref := range refs {
		asking.Go(func() error {
			var text bytes.Buffer
			told := h.Ask != nil && h.Ask(ctx, ref, attach.StatsJSON, &text) == nil
			mu.Lock()
			defer mu.Unlock()
			if out[ref] = nil; told {
				out[ref] = text.Bytes()
			}
			return nil
		})
	}
	_ = asking.Wait() // none fails
	return out
}
