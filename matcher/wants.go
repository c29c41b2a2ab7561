package matcher

import "github.com/weftmesh/weft/api"

// Wants is what every dataplane has that a selector selects, so that an index
// leads to it. There may be others that have it too.
type Wants struct {
	Name       string   // or display name
	Namespaces []string // all of them
	Gateway    bool
	Labels     map[string]string
	Tags       map[string]string // of its inbounds, or of the gateway
}

// Wants tells what the selector wants; not ok where it selects nothing.
func (s *Selector) Wants() (w Wants, ok bool) {
	if s.Key == "" {
		return w, true
	}
	r := s.ref
	if s.namespace != "" {
		w.Namespaces = append(w.Namespaces, s.namespace)
	}
	w.Gateway = proxies(r.ProxyTypes) == "Gateway"
	switch r.Kind {
	case api.KindMesh:
		return w, true
	case api.KindDataplane:
		if w.Name = r.Name; r.Name == "" {
			w.Labels = r.Labels
		} else if r.Namespace != "" {
			w.Namespaces = append(w.Namespaces, r.Namespace)
		}
		return w, true
	case api.KindMeshSubset:
		w.Tags = present(r.Tags)
		return w, true
	case api.KindMeshService, api.KindMeshServiceSubset:
		if w.Tags = present(r.Tags); r.Name == "" {
			return w, false
		}
		w.Tags[api.TagService] = r.Name
		if r.Kind == api.KindMeshService && r.Namespace != "" {
			w.Namespaces = append(w.Namespaces, r.Namespace)
		}
		return w, true
	}
	return w, false
}

// present are the tags that must be there: one that is wanted empty may be missing.
func present(tags map[string]string) map[string]string {
	out := make(map[string]string, len(tags)+1)
	for k, v := range tags {
		if v != "" {
			out[k] = v
		}
	}
	return out
}
