// Package kuma is the route language of Kuma: MeshHTTPRoute and MeshTCPRoute
// (spec/kuma.md 2).
//
// It promises that every field of a document is either carried into the route
// model or named in a violation or note.
//
// It refuses to look for what a reference leads to: that is resolve's.
package kuma

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// The kinds of routes.
const (
	KindHTTPRoute = "MeshHTTPRoute"
	KindTCPRoute  = "MeshTCPRoute"
)

// Dialect is Kuma's route language.
var Dialect = route.Dialect{
	Name: "kuma",
	Types: []api.Type{
		{Name: KindHTTPRoute, Plural: "meshhttproutes", Short: "mhttpr", Group: "kuma.io", Version: "v1alpha1",
			Policy: true, Route: true, Attach: true, New: func() api.Spec { return new(HTTPRoute) }, Custom: api.ReportedDefinition()},
		{Name: KindTCPRoute, Plural: "meshtcproutes", Short: "mtcpr", Group: "kuma.io", Version: "v1alpha1",
			Policy: true, Route: true, New: func() api.Spec { return new(TCPRoute) }, Custom: api.ReportedDefinition()},
	},
	Read:    read,
	Compose: compose,
	Print:   printTable,
	Prints:  KindHTTPRoute, Services: true,
}

// HTTPRoute is the spec of a MeshHTTPRoute: where requests to destinations go, by path, method, headers and query, and what is changed on the way.
type HTTPRoute struct {
	TargetRef *api.TargetRef `json:"targetRef,omitempty"` // nil is Mesh
	To        []To           `json:"to,omitempty" schema:"items=16"`
}

// To is what the route says for one destination.
type To struct {
	TargetRef api.TargetRef `json:"targetRef"`
	Hostnames []string      `json:"hostnames,omitempty"` // MeshGateway only
	Rules     []Rule        `json:"rules,omitempty"`
}

func (t To) destination() api.TargetRef { return t.TargetRef }

// Rule is what happens to the requests that any of the matches matches.
type Rule struct {
	Name    string  `json:"name,omitempty" schema:"is=label"` // weft's addition: what sectionName may name
	Matches []Match `json:"matches,omitempty" schema:"required,least=1,items=16"`
	Default Default `json:"default"`
}

// Default is what happens. An absent list leaves it to weaker objects, an
// empty one says none.
type Default struct {
	Filters     []Filter     `json:"filters,omitzero" schema:"items=16"`
	BackendRefs []BackendRef `json:"backendRefs,omitzero" schema:"items=32"`
}

// Filter is one change; Type says which of the other fields is there.
type Filter struct {
	Type                   string           `json:"type" schema:"required,enum=RequestHeaderModifier|ResponseHeaderModifier|RequestRedirect|URLRewrite|RequestMirror"`
	RequestHeaderModifier  *HeaderModifier  `json:"requestHeaderModifier,omitempty" schema:"least=1"`
	ResponseHeaderModifier *HeaderModifier  `json:"responseHeaderModifier,omitempty" schema:"least=1"`
	RequestRedirect        *RequestRedirect `json:"requestRedirect,omitempty"`
	URLRewrite             *URLRewrite      `json:"urlRewrite,omitempty"`
	RequestMirror          *RequestMirror   `json:"requestMirror,omitempty"`
}

// HeaderModifier changes headers.
type HeaderModifier struct {
	Set    []Header `json:"set,omitempty" schema:"most=16"`
	Add    []Header `json:"add,omitempty" schema:"most=16"`
	Remove []string `json:"remove,omitempty" schema:"most=16,is=headerName"`
}

// RequestRedirect answers with a location.
type RequestRedirect struct {
	Scheme     string       `json:"scheme,omitempty" schema:"enum=http|https"`
	Hostname   string       `json:"hostname,omitempty" schema:"is=hostname"`
	Port       *uint32      `json:"port,omitempty" schema:"min=1,max=65535"`
	Path       *PathRewrite `json:"path,omitempty"`
	StatusCode uint32       `json:"statusCode,omitempty" schema:"enum=301|302|303|307|308,default=302"` // default 302
}

// URLRewrite changes what the backend sees.
type URLRewrite struct {
	Hostname              string       `json:"hostname,omitempty" schema:"is=hostname"`
	Path                  *PathRewrite `json:"path,omitempty"`
	HostToBackendHostname bool         `json:"hostToBackendHostname,omitempty"` // MeshGateway only
}

// PathRewrite replaces the path or the prefix that matched.
type PathRewrite struct {
	Type               string  `json:"type" schema:"required,enum=ReplaceFullPath|ReplacePrefixMatch"`
	ReplaceFullPath    *string `json:"replaceFullPath,omitempty"`
	ReplacePrefixMatch *string `json:"replacePrefixMatch,omitempty"`
}

// RequestMirror copies a share of the requests.
type RequestMirror struct {
	Percentage *Percentage `json:"percentage,omitempty"` // default 100
	BackendRef BackendRef  `json:"backendRef"`
}

// BackendRef names a backend and its weight.
type BackendRef struct {
	Kind        string            `json:"kind"`
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	SectionName string            `json:"sectionName,omitempty"`
	Port        *uint32           `json:"port,omitempty" schema:"min=1,max=65535"`
	Weight      *uint32           `json:"weight,omitempty"` // default 1
}

// Top is the top-level targetRef, Mesh where it is left out.
func (r *HTTPRoute) Top() api.TargetRef { return topOf(r.TargetRef) }

// RoleIn is the role of a route of namespace home.
func (r *HTTPRoute) RoleIn(home api.Home) string { return api.RoleOf(home, r.Top(), targets(r.To)) }

// ref is the reference alone.
func (b *BackendRef) ref() api.TargetRef {
	return api.TargetRef{Kind: b.Kind, Name: b.Name, Namespace: b.Namespace, Labels: b.Labels, Tags: b.Tags, SectionName: b.SectionName}
}

// Default makes the defaults of the structure part of the object (spec/kuma.md 1.6).
func (r *HTTPRoute) Default() {
	for i := range r.To {
		for j := range r.To[i].Rules {
			rule := &r.To[i].Rules[j]
			for _, m := range rule.Matches {
				for n := range m.Headers {
					if m.Headers[n].Type == "" {
						m.Headers[n].Type = string(Exact)
					}
				}
			}
			for _, f := range rule.Default.Filters {
				if f.RequestRedirect != nil && f.RequestRedirect.StatusCode == 0 {
					f.RequestRedirect.StatusCode = 302
				}
			}
			defaultWeights(rule.Default.BackendRefs)
		}
	}
}

func defaultWeights(refs []BackendRef) {
	for i := range refs {
		if refs[i].Weight == nil {
			one := uint32(1)
			refs[i].Weight = &one
		}
	}
}
