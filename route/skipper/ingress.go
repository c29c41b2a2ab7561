package skipper

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// KindIngress is what RouteGroups have taken the place of.
const KindIngress = "Ingress"

// The annotations of an Ingress that Skipper reads.
const (
	annotations      = "zalando.org/"
	weightsOfIngress = annotations + "backend-weights"
	filterOfIngress  = annotations + "skipper-filter"
	limitOfIngress   = annotations + "ratelimit"
	asksOfIngress    = annotations + "skipper-predicate"
	routesOfIngress  = annotations + "skipper-routes"
	balanceOfIngress = annotations + "skipper-loadbalancer"
	pathsOfIngress   = annotations + "skipper-ingress-path-mode"
)

// ingress is an Ingress on its way to RouteGroups.
type ingress struct {
	changes   []route.LegacyField
	notes     map[string]string // annotations
	weights   map[string]float64
	filters   []string
	predicate []string
	extra     []extra
	// open says that a predicate or a filter cannot be read: without it more requests would
	// pass than were let through.
	open bool
}

// fromIngress makes RouteGroups of an Ingress: hosts with the same paths share one.
func fromIngress(doc map[string]any) ([]map[string]any, []route.LegacyField) {
	x := &ingress{notes: map[string]string{}}
	meta, _ := doc["metadata"].(map[string]any)
	x.annotations(meta)
	spec, _ := doc["spec"].(map[string]any)
	if x.open {
		return []map[string]any{doc}, x.changes
	}
	x.changes = append(x.changes, route.LegacyField{Field: "kind", Message: "an " + KindIngress + " becomes " + Kind + "s"})
	var order []string
	paths := map[string][]ingressPath{} // by host
	for i, r := range route.ListIn(spec["rules"]) {
		rule, _ := r.(map[string]any)
		host, _ := rule["host"].(string)
		http, _ := rule["http"].(map[string]any)
		if !slices.Contains(order, host) {
			order = append(order, host)
		}
		for j, p := range route.ListIn(http["paths"]) {
			at := api.Path("spec.rules").Index(i).Field("http.paths").Index(j)
			if path, ok := x.path(p, at); ok {
				paths[host] = append(paths[host], path)
			}
		}
	}
	for _, name := range []string{"defaultBackend", "backend"} {
		if b, ok := spec[name].(map[string]any); ok {
			if to, ok := x.backend(b, api.Path("spec").Field(name)); ok {
				order, paths[""] = append(slices.DeleteFunc(order, func(h string) bool { return h == "" }), ""), append(paths[""], ingressPath{to: to})
			}
		}
	}
	return x.groups(meta, spec, order, paths), x.changes
}

// groups are one for each set of paths.
func (x *ingress) groups(meta, spec map[string]any, order []string, paths map[string][]ingressPath) []map[string]any {
	var out []map[string]any
	var specs []*RouteGroup
	keys := map[string]*RouteGroup{}
	for _, host := range order {
		if len(paths[host]) == 0 {
			continue
		}
		key := fmt.Sprintf("%v %+v", host == "", paths[host])
		g := keys[key]
		if g == nil {
			g = x.group(paths[host])
			keys[key], specs = g, append(specs, g)
		}
		if host != "" {
			g.Hosts = append(g.Hosts, host)
		}
	}
	name, _ := meta["name"].(string)
	for i, g := range specs {
		own := map[string]any{"name": name}
		if i > 0 {
			own["name"] = fmt.Sprintf("%s-%d", name, i+1)
		}
		for _, field := range []string{"namespace", "labels"} {
			if meta[field] != nil {
				own[field] = meta[field]
			}
		}
		for _, t := range route.ListIn(spec["tls"]) {
			var tls TLS
			if text, err := json.Marshal(t); err == nil && json.Unmarshal(text, &tls) == nil {
				g.TLS = append(g.TLS, tls)
			}
		}
		out = append(out, map[string]any{"apiVersion": "zalando.org/v1", "kind": Kind, "metadata": own, "spec": g})
	}
	return out
}

// ingressPath is a path of a host with where it leads to.
type ingressPath struct {
	path, kind string
	to         ingressBackend
}

type ingressBackend struct {
	service string
	port    uint32
}

func (x *ingress) lose(at api.Path, format string, args ...any) {
	x.changes = append(x.changes, route.LegacyField{Field: at, Message: fmt.Sprintf(format, args...), Dropped: true})
}

func (x *ingress) path(v any, at api.Path) (out ingressPath, ok bool) {
	p, _ := v.(map[string]any)
	out.path, _ = p["path"].(string)
	out.kind, _ = p["pathType"].(string)
	b, _ := p["backend"].(map[string]any)
	out.to, ok = x.backend(b, at.Field("backend"))
	return out, ok
}

// backend is that of either version.
func (x *ingress) backend(b map[string]any, at api.Path) (out ingressBackend, ok bool) {
	name, port := b["serviceName"], b["servicePort"]
	if s, is := b["service"].(map[string]any); is {
		name, port = s["name"], nil
		if p, is := s["port"].(map[string]any); is {
			if port = p["number"]; port == nil {
				port = p["name"]
			}
		}
	}
	out.service, _ = name.(string)
	switch n := port.(type) {
	case int:
		out.port = uint32(n)
	case float64:
		out.port = uint32(n)
	}
	switch {
	case out.service == "":
		x.lose(at, "is no service, so the path is left out; write one")
	case out.port == 0:
		x.lose(at, "has no number of a port, so the path is left out: a %s names ports by number; write the number that the service has", Kind)
	}
	return out, out.service != "" && out.port != 0
}

// group is a group with the paths of a host.
func (x *ingress) group(paths []ingressPath) *RouteGroup {
	g := &RouteGroup{}
	var routes []Route
	for i := 0; i < len(paths); {
		n := i + 1 // several services at one path share its requests
		for n < len(paths) && paths[n].path == paths[i].path && paths[n].kind == paths[i].kind {
			n++
		}
		r := x.route(paths[i], Route{Backends: x.refs(g, paths[i:n]), Filters: slices.Clone(x.filters), Predicates: slices.Clone(x.predicate)})
		routes = append(routes, r)
		for _, e := range x.extra {
			routes = append(routes, x.route(paths[i], e.route(g, r.Backends)))
		}
		i = n
	}
	g.Routes = routes
	if r := &routes[0]; len(routes) == 1 {
		g.DefaultBackends, r.Backends = r.Backends, nil
		if r.Path+r.PathSubtree+r.PathRegexp == "" && len(r.Filters)+len(r.Predicates) == 0 {
			g.Routes = nil
		}
	}
	return g
}

// refs are the services of one path. A service without a weight where others have one
// gets nothing.
func (x *ingress) refs(g *RouteGroup, paths []ingressPath) []BackendRef {
	var out []BackendRef
	weighed := slices.ContainsFunc(paths, func(p ingressPath) bool { return x.weights[p.to.service] > 0 })
	for _, p := range paths {
		b := Backend{Name: p.to.service, Type: service, ServiceName: p.to.service, ServicePort: p.to.port, Algorithm: x.notes[balanceOfIngress]}
		if slices.ContainsFunc(g.Backends, func(y Backend) bool { return y.Name == b.Name && y.ServicePort != b.ServicePort }) {
			b.Name = fmt.Sprintf("%s-%d", b.Name, b.ServicePort)
		}
		if !slices.ContainsFunc(g.Backends, func(y Backend) bool { return y.Name == b.Name }) {
			g.Backends = append(g.Backends, b)
		}
		if slices.ContainsFunc(out, func(y BackendRef) bool { return y.BackendName == b.Name }) {
			continue
		}
		ref := BackendRef{BackendName: b.Name}
		if weighed && len(paths) > 1 {
			ref.Weight = new(uint32(math.Round(x.weights[p.to.service])))
		}
		out = append(out, ref)
	}
	return out
}

// route is r at a path, as the type of the path or the mode of the Ingress wants it.
func (x *ingress) route(p ingressPath, r Route) Route {
	kind := p.kind
	if kind != "Exact" && kind != "Prefix" {
		kind = x.notes[pathsOfIngress]
	}
	if p.path == "" || p.path == "/" && kind != "Exact" && kind != "Prefix" {
		return r
	}
	expression := ""
	switch kind {
	case "Exact":
		r.Path = p.path
	case "Prefix", "path-prefix":
		r.PathSubtree = p.path
	case "path-regexp":
		expression = p.path
	default:
		expression = "^" + p.path
	}
	if r.PathRegexp == "" {
		r.PathRegexp = expression
	} else if expression != "" {
		r.Predicates = append(r.Predicates, say("PathRegexp", expression))
	}
	return r
}

// annotations reads those that Skipper knows; others of its own are told.
func (x *ingress) annotations(meta map[string]any) {
	all, _ := meta["annotations"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := api.Path("metadata.annotations").Key(name)
		text, _ := all[name].(string)
		x.notes[name] = text
		switch name {
		case weightsOfIngress:
			x.readWeights(all[name], at)
		case filterOfIngress, limitOfIngress:
			x.filters = append(x.filters, texts(x.needed(text, eskip.Then, at))...)
		case asksOfIngress:
			x.predicate = texts(x.needed(text, eskip.And, at))
		case routesOfIngress:
			x.readRoutes(text, at)
		case balanceOfIngress, pathsOfIngress:
		default:
			if strings.HasPrefix(name, annotations) {
				x.lose(at, "has no form in a %s; it is left out", Kind)
			}
		}
	}
}

// readWeights takes the text of a JSON object, or the object itself as YAML has it.
func (x *ingress) readWeights(v any, at api.Path) {
	text, ok := v.(string)
	if !ok {
		out, err := json.Marshal(v)
		if err != nil {
			out = nil
		}
		text = string(out)
	}
	if err := json.Unmarshal([]byte(text), &x.weights); err != nil {
		x.lose(at, "is no JSON object of services and weights: %v; services share alike", err)
	}
}
