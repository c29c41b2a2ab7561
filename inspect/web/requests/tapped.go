package requests

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

// newTap finds who is to be watched, and whether who asks may.
func (h *Handlers) newTap(r *http.Request, q TapRequest) (*tap, error) {
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return nil, err
	}
	t := &tap{h: h, mesh: mesh, id: rand.Text(), length: time.Duration(q.For)}
	if t.length == 0 {
		t.length = tapUsually
	}
	if err := q.check(t.length); err != nil {
		return nil, err
	}
	m, err := h.Reader(r.Context())
	if err != nil {
		return nil, err
	}
	var all []*effective.Resolved
	for i, name := range q.Dataplanes {
		of, err := inspect.Dataplane(m, dataplaneCalled(m, mesh, name))
		if err != nil {
			return nil, httpapi.BadField(fmt.Sprintf("dataplanes[%d]", i), err.Error())
		}
		all = append(all, of)
	}
	if q.Service != "" {
		all = candidates(m, mesh, q.Service, nil)
	}
	if all, err = h.tappable(r.Context(), all, q.Service == ""); err != nil {
		return nil, err
	}
	if more := len(all) - mostTapped; more > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d more sidecars of the service are not watched; a tap watches %d at most", more, mostTapped))
		all = all[:mostTapped]
	}
	for _, of := range all {
		x := &tapped{Resolved: of, RequestsQuestion: attach.RequestsQuestion{Tap: t.id, Status: q.Status, Route: q.Route, Paths: true, Headers: attach.HeaderNames(q.Headers)}}
		if q.To != "" {
			if x.Tables = tablesOf(of, q.To); len(x.Tables) == 0 {
				continue
			}
		}
		t.of = append(t.of, x)
	}
	if len(t.of) == 0 {
		return nil, httpapi.BadField(cmp.Or(map[bool]string{true: "to"}[len(all) > 0], "service"), "there is no dataplane to watch: none has that service, or calls what `to` names")
	}
	return t, nil
}

// check reports all mistakes.
func (q *TapRequest) check(length time.Duration) error {
	var wrong []httpapi.ProblemDetails
	if (q.Service == "") == (len(q.Dataplanes) == 0) {
		wrong = append(wrong, httpapi.BadField("dataplanes", "write either dataplanes or a service"))
	}
	if len(q.Dataplanes) > mostTapped {
		wrong = append(wrong, httpapi.BadField("dataplanes", fmt.Sprintf("%d are too many; a tap watches %d sidecars at most", len(q.Dataplanes), mostTapped)))
	}
	if !attach.IsStatus(q.Status) {
		wrong = append(wrong, badStatus(q.Status))
	}
	if len(q.Headers) > attach.MostHeaders {
		wrong = append(wrong, httpapi.BadField("headers", fmt.Sprintf("%d are too many; a tap tells %d headers at most", len(q.Headers), attach.MostHeaders)))
	}
	for i, name := range q.Headers[:min(len(q.Headers), attach.MostHeaders)] {
		if err := attach.CheckHeader(name); err != nil {
			wrong = append(wrong, httpapi.BadField(fmt.Sprintf("headers[%d]", i), err.Error()))
		}
	}
	if length <= 0 || length > tapAtMost {
		wrong = append(wrong, httpapi.BadField("for", fmt.Sprintf("%v is not possible; write a time up to %v", length, tapAtMost)))
	}
	if len(wrong) > 0 {
		return httpapi.BadFields(wrong)
	}
	return nil
}

// tappable are the dataplanes whose requests who asks may watch: an administrator, or whoever the cluster
// lets tap dataplanes/requests there. Of those that are named one by one none is left out silently.
func (h *Handlers) tappable(ctx context.Context, all []*effective.Resolved, oneByOne bool) ([]*effective.Resolved, error) {
	u := rights.CallerOf(ctx)
	if u.OnlyAsks() {
		return nil, rights.MayChange(ctx)
	}
	kind, _ := h.Catalog.Type(api.KindDataplane)
	may := map[string]bool{}
	var out []*effective.Resolved
	for _, of := range all {
		want := rights.AccessRequest{Verb: "tap", Group: rights.GroupOf(kind), Resource: kind.Plural, Subresource: "requests", Namespace: of.Ref.Namespace}
		if _, known := may[want.Namespace]; !known && u.InCluster() {
			allowed, err := u.Has(ctx, want)
			if err != nil {
				return nil, err
			}
			may[want.Namespace] = allowed
		}
		if u.InCluster() && !may[want.Namespace] {
			if oneByOne {
				return nil, h.Lacks(u, want)
			}
			continue
		}
		out = append(out, of)
	}
	if len(out) == 0 && len(all) > 0 {
		return nil, h.Lacks(u, rights.AccessRequest{Verb: "tap", Group: rights.GroupOf(kind), Resource: kind.Plural, Subresource: "requests"})
	}
	return out, nil
}
