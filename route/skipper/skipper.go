// Package skipper is the route language of RouteGroups (spec/routegroup.md):
// documents of zalando.org/v1, the earlier draft of them, and the predicates and
// filters that they hold as eskip text.
//
// It promises that a group is taken as a whole or refused as a whole: a predicate
// left out would widen a match, a filter left out might open a backend. Only what
// observes requests and never changes them is accepted without effect, with a note.
//
// It refuses to leave an order to chance: where Skipper tries routes of equal weight
// in any order, this package has a rule (see order.go).
package skipper

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Kind is the type of the documents.
const Kind = "RouteGroup"

// Settings are what a control plane is told on which it depends whether a group is
// applied.
type Settings struct {
	// Authorization says that there is an authorization service; else a group with a
	// filter that guards is not applied.
	Authorization bool
	// Addresses are the hosts that backends may be at.
	Addresses Addresses
}

// Dialect is the language where nothing is set.
var Dialect = In(Settings{})

// In is the language of a control plane with settings.
func In(s Settings) route.Dialect {
	return route.Dialect{
		Name: "skipper",
		Types: []api.Type{{Name: Kind, Plural: "routegroups", Short: "rg", Group: "zalando.org", Version: "v1", Route: true, Attach: true, Meta: true,
			Narrowing: []string{"hosts", "routes"}, Annotations: annotationsOfGroups, New: func() api.Spec { return new(RouteGroup) }, Custom: definition}},
		Read:    func(o *api.Object, see route.Lister) *route.ParsedRoute { return read(o, see, s) },
		Class:   func(o *api.Object) string { return route.IngressClass(o, "") },
		Compose: compose,
		Meet:    meet,
		Status:  status,
		Print:   printTable,
		Prints:  Kind, Hosts: true,
		Rewriters: map[string]route.Rewriter{KindIngress: fromIngress},
	}
}

// annotationsOfGroups are those that Skipper has for an Ingress, and some write at a RouteGroup.
var annotationsOfGroups = []api.Annotation{
	{Prefix: filterOfIngress, Instead: ofIngress + "filters of the routes"}, {Prefix: limitOfIngress, Instead: ofIngress + "filters of the routes"},
	{Prefix: asksOfIngress, Instead: ofIngress + "predicates of the routes"}, {Prefix: routesOfIngress, Instead: ofIngress + "routes"},
	{Prefix: balanceOfIngress, Instead: ofIngress + "algorithm at the backends"}, {Prefix: weightsOfIngress, Instead: ofIngress + "weight at the backends of the routes"},
	{Prefix: pathsOfIngress, Instead: ofIngress + "path, pathSubtree or pathRegexp at the routes"},
}

// ofIngress begins what is said of them.
const ofIngress = "Skipper reads it of an Ingress alone; write "

// RouteGroup is the spec of a RouteGroup.
type RouteGroup struct {
	Hosts           []string     `json:"hosts,omitempty"` // none: any host
	Backends        []Backend    `json:"backends,omitempty"`
	DefaultBackends []BackendRef `json:"defaultBackends,omitempty"`
	Routes          []Route      `json:"routes,omitempty"` // none: everything goes to the default backends
	TLS             []TLS        `json:"tls,omitempty"`
}

// Backend is where requests may go.
type Backend struct {
	Name        string   `json:"name,omitempty"`
	Type        string   `json:"type,omitempty"` // default service
	Address     string   `json:"address,omitempty"`
	Algorithm   string   `json:"algorithm,omitempty"`
	Endpoints   []string `json:"endpoints,omitempty"`
	ServiceName string   `json:"serviceName,omitempty"`
	ServicePort uint32   `json:"servicePort,omitempty"`
	// Default and Weight are of the draft alone.
	Default bool    `json:"default,omitempty"`
	Weight  *uint32 `json:"weight,omitempty"`
}

// BackendRef names a backend of the group and its weight.
type BackendRef struct {
	BackendName string  `json:"backendName,omitempty"`
	Weight      *uint32 `json:"weight,omitempty"`
}

// Route is one route of the group.
type Route struct {
	Path        string       `json:"path,omitempty"`
	PathSubtree string       `json:"pathSubtree,omitempty"`
	PathRegexp  string       `json:"pathRegexp,omitempty"`
	Backends    []BackendRef `json:"backends,omitempty"` // none: the default backends
	Filters     []string     `json:"filters,omitempty"`
	Predicates  []string     `json:"predicates,omitempty"`
	Methods     []string     `json:"methods,omitempty"` // none: every method
	// Method and Backend are of the draft alone.
	Method  Words  `json:"method,omitempty"`
	Backend string `json:"backend,omitempty"`
}

// TLS names a certificate for hosts.
type TLS struct {
	Hosts      []string `json:"hosts,omitempty"`
	SecretName string   `json:"secretName,omitempty"`
}

// refused is a violation with the reason that spec/routegroup.md 7 has for it.
func refused(at api.Path, reason, format string, args ...any) *api.Violation {
	v := at.Breaks(format, args...)
	v.Code = reason
	return v
}

// The reasons of spec/routegroup.md 7.
const (
	invalidSpec          = "InvalidSpec"
	invalidEskip         = "InvalidEskip"
	unsupportedPredicate = "UnsupportedPredicate"
	unsupportedFilter    = "UnsupportedFilter"
	unsupportedBackend   = "UnsupportedBackend"
	backendNotFound      = "BackendNotFound"
	draftDialect         = "DraftDialect"
	ambiguous            = "Ambiguous"
	roughShare           = "RoughShares"
	filterOrder          = "FilterOrder"
)
