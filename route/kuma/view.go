package kuma

import "github.com/weftmesh/weft/route"

// FilterOf is a filter of any language as one of a MeshHTTPRoute, for views; it is not ok where a
// MeshHTTPRoute cannot say all of it. A mirror is by MirrorOf.
func FilterOf(f *route.Filter) (out Filter, ok bool) {
	switch {
	case f.RequestHeaders != nil && len(f.RequestHeaders.Fill) == 0:
		return Filter{Type: requestHeaderModifier, RequestHeaderModifier: modifierOf(f.RequestHeaders)}, true
	case f.ResponseHeaders != nil && len(f.ResponseHeaders.Fill) == 0:
		return Filter{Type: responseHeaderModifier, ResponseHeaderModifier: modifierOf(f.ResponseHeaders)}, true
	case f.Rewrite != nil && f.Rewrite.HostHeader == "" && plainRewrite(f.Rewrite.Path):
		w := f.Rewrite
		return Filter{Type: urlRewrite, URLRewrite: &URLRewrite{Hostname: w.Hostname, Path: rewriteOf(w.Path), HostToBackendHostname: w.BackendsHost}}, true
	}
	return Filter{}, false
}

// RedirectOf is a redirect of any language as FilterOf is a filter.
func RedirectOf(d *route.Redirect) (out Filter, ok bool) {
	if !plainRewrite(d.Path) {
		return Filter{}, false
	}
	return Filter{Type: requestRedirect, RequestRedirect: redirectOf(d, d.Path)}, true
}

// MirrorOf is the filter that copies so many percent of the requests to a backend.
func MirrorOf(to BackendRef, percent float64) Filter {
	m := &RequestMirror{BackendRef: to}
	if m.BackendRef.Weight = nil; percent != 100 {
		m.Percentage = percentageOf(percent)
	}
	return Filter{Type: requestMirror, RequestMirror: m}
}

// plainRewrite reports whether a MeshHTTPRoute has words for what becomes of a path.
func plainRewrite(p *route.PathRewrite) bool {
	return p == nil || p.Full != nil || p.Prefix != nil && !p.Literal
}
