package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
)

// paged is a page of a list.
type paged[T any] struct {
	Total int      `json:"total"` // of all pages
	Items []T      `json:"items"`
	Next  *string  `json:"next"`            // the address of the page that follows
	Notes []string `json:"notes,omitempty"` // of what the list is without
}

// selection is what a client asks of a list.
type selection struct {
	size, offset int
	name         string            // part of the name
	labels       map[string]string // all of them, exactly
	tags         [][2]string       // each, as a part
	gateway      string
}

const (
	defaultPage = 100
	largestPage = 1000
)

// selectionOf reads the query of a list; an unknown filter is refused, because
// ignoring it would answer more than was asked for.
func selectionOf(q url.Values) (selection, error) {
	sel := selection{size: defaultPage, name: q.Get("name"), labels: map[string]string{}, gateway: q.Get("gateway")}
	for key, into := range map[string]*int{"size": &sel.size, "offset": &sel.offset} {
		text := q.Get(key)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || key == "size" && (n < 1 || n > largestPage) {
			return sel, badField(key, key+" "+strconv.Quote(text)+" is not possible; size is a number from 1 to 1000, offset one from 0")
		}
		*into = n
	}
	for key, values := range q {
		if !strings.HasPrefix(key, "filter[") {
			continue
		}
		label, ok := strings.CutPrefix(strings.TrimSuffix(key, "]"), "filter[labels.")
		if !ok || label == "" || !strings.HasSuffix(key, "]") || len(values) != 1 {
			return sel, badField(key, "unknown filter; use filter[labels.<key>]=<value>")
		}
		sel.labels[label] = values[0]
	}
	for _, t := range q["tag"] {
		key, value, ok := strings.Cut(t, ":")
		if !ok {
			return sel, badField("tag", strconv.Quote(t)+" is not a tag; use key:value")
		}
		sel.tags = append(sel.tags, [2]string{key, value})
	}
	switch sel.gateway {
	case "", "true", "false", "delegated", "builtin":
		return sel, nil
	}
	return sel, badField("gateway", "unknown value; use true, false, delegated or builtin")
}

// everything reports whether no object is left out.
func (sel selection) everything() bool {
	return sel.name == "" && len(sel.labels)+len(sel.tags) == 0 && sel.gateway == ""
}

// labelled reports whether an object has the labels that are asked for, of those
// that it is shown with.
func (sel selection) labelled(shown *api.Object) bool {
	for k, v := range sel.labels {
		if got, ok := shown.Labels[k]; !ok || got != v {
			return false
		}
	}
	return true
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
func (s *server) list(w http.ResponseWriter, r *http.Request) error {
	t, ok := s.Catalog.ByPlural(r.PathValue("plural"))
	mesh := r.PathValue("mesh")
	_, empty := s.isAbsent(r)
	if !empty && (!ok || t.Global && mesh != "") {
		return s.notFound(nil, r)
	}
	if err := s.meshKnown(mesh); err != nil {
		return err
	}
	if empty {
		return nothing(w)
	}
	return s.listed(w, r, t, mesh)
}

func (s *server) listOf(kind string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, _ := s.Catalog.Type(kind)
		return s.listed(w, r, t, "")
	}
}

func (s *server) meshKnown(mesh string) error {
	if mesh == "" {
		return nil
	}
	if _, ok := s.Documents.Snapshot().Get(api.Ref{Kind: api.KindMesh, Name: mesh}); !ok {
		return missing()
	}
	return nil
}

func (s *server) listed(w http.ResponseWriter, r *http.Request, t api.Type, mesh string) error {
	if r.URL.Query().Get("format") == "written" {
		return s.page(w, r, t.Name, mesh, func(o *api.Object) ([]byte, error) { return s.written(r, o) })
	}
	return s.page(w, r, t.Name, mesh, func(o *api.Object) ([]byte, error) { return s.item(r.Context(), o, nil) })
}

// page answers the part of the objects of a kind, in one mesh or in all, that the
// query asks for, each printed by one.
func (s *server) page(w http.ResponseWriter, r *http.Request, kind, mesh string, one func(*api.Object) ([]byte, error)) error {
	sel, err := selectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	snapshot := s.there(r.Context(), kind)
	objects, all := snapshot.OfKind(kind), snapshot.CountOfKind(kind)
	if mesh != "" {
		objects, all = snapshot.Of(kind, mesh), snapshot.Count(kind, mesh)
	}
	p := paged[json.RawMessage]{Items: []json.RawMessage{}}
	if _, isCut := r.Context().Value(visibleKey{}).(visible); isCut {
		var asked []*api.Object // what is not asked for says nothing of namespaces
		for o := range objects {
			if s.chosen(sel, o) {
				asked = append(asked, o)
			}
		}
		if asked, p.Notes, err = seen(r.Context(), asked); err != nil {
			return err
		}
		objects, all = slices.Values(asked), len(asked)
	}
	everything, looked := sel.everything(), 0
	for o := range objects {
		if everything && len(p.Items) == sel.size {
			p.Total = all // of which the rest need not be looked at
			break
		}
		looked++
		if !everything && !s.chosen(sel, o) {
			continue
		}
		p.Total++
		if p.Total <= sel.offset || len(p.Items) == sel.size {
			continue
		}
		text, err := one(o)
		if err != nil {
			return err
		}
		p.Items = append(p.Items, text)
	}
	if s.Listed != nil {
		s.Listed(looked)
	}
	if end := sel.offset + len(p.Items); len(p.Items) > 0 && end < p.Total {
		next := nextPage(r, end)
		p.Next = &next
	}
	answer(w, http.StatusOK, p)
	return nil
}

// chosen reports whether a list asks for an object.
func (s *server) chosen(sel selection, o *api.Object) bool {
	return sel.takes(o) && (len(sel.labels) == 0 || sel.labelled(s.Catalog.Shown(o)))
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
