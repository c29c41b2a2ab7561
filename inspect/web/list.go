package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// selection is what a client asks of a list.
type selection struct {
	size, offset int
	name         string            // part of the name
	labels       map[string]string // all of them, exactly
	tags         [][2]string       // each, as a part
	gateway      string
}

// selectionOf reads the query of a list; an unknown filter is refused, because
// ignoring it would answer more than was asked for.
func selectionOf(q url.Values) (selection, error) {
	sel := selection{size: endpoint.DefaultPage, name: q.Get("name"), labels: map[string]string{}, gateway: q.Get("gateway")}
	for key, into := range map[string]*int{"size": &sel.size, "offset": &sel.offset} {
		text := q.Get(key)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || key == "size" && (n < 1 || n > endpoint.LargestPage) {
			return sel, httpapi.BadField(key, key+" "+strconv.Quote(text)+" is not possible; size is a number from 1 to 1000, offset one from 0")
		}
		*into = n
	}
	for key, values := range q {
		if !strings.HasPrefix(key, "filter[") {
			continue
		}
		label, ok := strings.CutPrefix(strings.TrimSuffix(key, "]"), "filter[labels.")
		if !ok || label == "" || !strings.HasSuffix(key, "]") || len(values) != 1 {
			return sel, httpapi.BadField(key, "unknown filter; use filter[labels.<key>]=<value>")
		}
		sel.labels[label] = values[0]
	}
	for _, t := range q["tag"] {
		key, value, ok := strings.Cut(t, ":")
		if !ok {
			return sel, httpapi.BadField("tag", strconv.Quote(t)+" is not a tag; use key:value")
		}
		sel.tags = append(sel.tags, [2]string{key, value})
	}
	switch sel.gateway {
	case "", "true", "false", "delegated", "builtin":
		return sel, nil
	}
	return sel, httpapi.BadField("gateway", "unknown value; use true, false, delegated or builtin")
}

// everything reports whether no object is left out.
func (sel selection) everything() bool {
	return sel.name == "" && len(sel.labels)+len(sel.tags) == 0 && sel.gateway == ""
}

// takes reports whether an object is asked for, whatever its labels.
func (sel selection) takes(o *api.Object) bool {
	if !strings.Contains(o.Name, sel.name) {
		return false
	}
	if dp, ok := o.Spec.(*api.Dataplane); ok {
		return sel.takesDataplane(dp)
	}
	return true
}

func (sel selection) takesDataplane(dp *api.Dataplane) bool {
	n := dp.Networking
	if n == nil {
		return len(sel.tags) == 0 && sel.gateway == ""
	}
	kind := ""
	if n.Gateway != nil {
		kind = "delegated"
		if n.Gateway.Type == "BUILTIN" {
			kind = "builtin"
		}
	}
	switch sel.gateway {
	case "true":
		if kind == "" {
			return false
		}
	case "false":
		if kind != "" {
			return false
		}
	case "delegated", "builtin":
		if kind != sel.gateway {
			return false
		}
	}
	for _, t := range sel.tags {
		if !hasTag(n, t[0], t[1]) {
			return false
		}
	}
	return true
}

// hasTag reports whether an inbound, or the gateway, has the tag with a value
// of which part is a part.
func hasTag(n *api.Networking, key, part string) bool {
	has := func(tags map[string]string) bool {
		v, ok := tags[key]
		return ok && strings.Contains(v, part)
	}
	for i := range n.Inbound {
		if has(n.Inbound[i].Tags) {
			return true
		}
	}
	return n.Gateway != nil && has(n.Gateway.Tags)
}

// list answers one page of the objects that the path names.
func (h *documentHandlers) list(w http.ResponseWriter, r *http.Request) error {
	t, ok := h.Catalog.ByPlural(r.PathValue("plural"))
	mesh := r.PathValue("mesh")
	_, empty := h.isAbsent(r)
	if !empty && (!ok || t.Global && mesh != "") {
		return h.NotFound(r)
	}
	if err := h.meshKnown(mesh); err != nil {
		return err
	}
	if empty {
		return nothing(w)
	}
	return h.listed(w, r, t, mesh)
}

func (h *documentHandlers) listOf(kind string) endpoint.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, _ := h.Catalog.Type(kind)
		return h.listed(w, r, t, "")
	}
}

func (s *source) meshKnown(mesh string) error {
	if mesh == "" {
		return nil
	}
	if _, ok := s.Documents.Snapshot().Get(api.Ref{Kind: api.KindMesh, Name: mesh}); !ok {
		return httpapi.NotFound()
	}
	return nil
}

func (h *documentHandlers) listed(w http.ResponseWriter, r *http.Request, t api.Type, mesh string) error {
	if r.URL.Query().Get("format") == "written" {
		return h.page(w, r, t.Name, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.AddText(h.written(r, o)) })
	}
	return h.page(w, r, t.Name, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.AddText(h.item(r.Context(), o, nil)) })
}

// page answers the part of the objects of a kind, in one mesh or in all, that the
// query asks for, each added by add.
func (s *source) page(w http.ResponseWriter, r *http.Request, kind, mesh string, add func(*httpapi.PrintedPage, *api.Object) error) error {
	sel, err := selectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	snapshot := s.there(r.Context(), kind)
	objects, all := snapshot.OfKind(kind), snapshot.CountOfKind(kind)
	if mesh != "" {
		objects, all = snapshot.Of(kind, mesh), snapshot.Count(kind, mesh)
	}
	p := httpapi.NewPage()
	defer p.Done()
	if _, isCut := rights.CutTo(r.Context()); isCut {
		var asked []*api.Object // what is not asked for says nothing of namespaces
		for o := range objects {
			if s.chosen(sel, o) {
				asked = append(asked, o)
			}
		}
		if asked, p.Notes, err = rights.Seen(r.Context(), asked); err != nil {
			return err
		}
		objects, all = slices.Values(asked), len(asked)
	}
	everything, looked := sel.everything(), 0
	for o := range objects {
		if everything && p.Count == sel.size {
			p.Total = all // of which the rest need not be looked at
			break
		}
		looked++
		if !everything && !s.chosen(sel, o) {
			continue
		}
		p.Total++
		if p.Total <= sel.offset || p.Count == sel.size {
			continue
		}
		if err := add(p, o); err != nil {
			return err
		}
	}
	if s.Listed != nil {
		s.Listed(looked)
	}
	if end := sel.offset + p.Count; p.Count > 0 && end < p.Total {
		next := nextPage(r, end)
		p.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, p)
	return nil
}

// chosen reports whether a list asks for an object.
func (s *source) chosen(sel selection, o *api.Object) bool {
	shown := s.Catalog.Labels(o)
	return sel.takes(o) && shown.Carry(sel.labels)
}

// nextPage is the absolute address of the page that begins at offset.
func nextPage(r *http.Request, offset int) string {
	q := r.URL.Query()
	q.Set("offset", strconv.Itoa(offset))
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u := url.URL{Scheme: scheme, Host: r.Host, Path: r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}
