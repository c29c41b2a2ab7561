package objects

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// PageOf is the part of all that the query asks for, by size, offset and a part of the name.
func PageOf[T any](r *http.Request, all []T, name func(T) string) (httpapi.Page[T], error) {
	sel, err := SelectionOf(r.URL.Query())
	if err != nil {
		return httpapi.Page[T]{}, err
	}
	all = slices.DeleteFunc(all, func(x T) bool { return !strings.Contains(name(x), sel.Name) })
	rest := all[min(sel.Offset, len(all)):]
	p := httpapi.Page[T]{Total: len(all), Items: rest[:min(sel.Size, len(rest))]}
	if end := sel.Offset + len(p.Items); len(p.Items) > 0 && end < p.Total {
		at := NextPage(r, end)
		p.Next = &at
	}
	return p, nil
}

// Page answers the part of the objects of a kind, in one mesh or in all, that the
// query asks for, each added by add.
func (s *Finder) Page(w http.ResponseWriter, r *http.Request, kind, mesh string, add func(*httpapi.PrintedPage, *api.Object) error) error {
	sel, err := SelectionOf(r.URL.Query())
	if err != nil {
		return err
	}
	snapshot := s.SnapshotOf(r.Context(), kind)
	objects, all := snapshot.OfKind(kind), snapshot.CountOfKind(kind)
	if mesh != "" {
		objects, all = snapshot.Of(kind, mesh), snapshot.Count(kind, mesh)
	}
	p := httpapi.NewPage()
	defer p.Done()
	if _, isCut := rights.CutTo(r.Context()); isCut {
		var asked []*api.Object // what is not asked for says nothing of namespaces
		for o := range objects {
			if s.Chosen(sel, o) {
				asked = append(asked, o)
			}
		}
		if asked, p.Notes, err = rights.Seen(r.Context(), asked); err != nil {
			return err
		}
		objects, all = slices.Values(asked), len(asked)
	}
	everything, looked := sel.Everything(), 0
	for o := range objects {
		if everything && p.Count == sel.Size {
			p.Total = all // of which the rest need not be looked at
			break
		}
		looked++
		if !everything && !s.Chosen(sel, o) {
			continue
		}
		p.Total++
		if p.Total <= sel.Offset || p.Count == sel.Size {
			continue
		}
		if err := add(p, o); err != nil {
			return err
		}
	}
	if s.Listed != nil {
		s.Listed(looked)
	}
	if end := sel.Offset + p.Count; p.Count > 0 && end < p.Total {
		next := NextPage(r, end)
		p.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, p)
	return nil
}

// Chosen reports whether a list asks for an object.
func (s *Finder) Chosen(sel Selection, o *api.Object) bool {
	shown := s.Catalog.Labels(o)
	return sel.takes(o) && shown.Carry(sel.labels)
}

// NextPage is the absolute address of the page that begins at offset.
func NextPage(r *http.Request, offset int) string {
	q := r.URL.Query()
	q.Set("offset", strconv.Itoa(offset))
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u := url.URL{Scheme: scheme, Host: r.Host, Path: r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}
