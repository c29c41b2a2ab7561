package resolve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// composition is what a model is compiled with.
type composition struct {
	catalog  *api.Catalog
	dialects []route.Dialect
	kinds    []*policies.Kind
}

func newComposition(t testing.TB) *composition {
	t.Helper()
	return &composition{catalog: world.Catalog(), dialects: world.Dialects(), kinds: world.Kinds()}
}

type fataler interface {
	Fatalf(string, ...any)
	Helper()
}

func (c *composition) decode(t fataler, text string) *api.Object {
	t.Helper()
	objects, err := c.catalog.Decode("test.yaml", []byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("decode: %v\n%s", err, text)
	}
	return objects[0]
}

type m = map[string]any

var (
	serviceNames = []string{"web", "orders", "backend"}
	planeNames   = []string{"a", "b", "c", "d"}
	routeNames   = []string{"r1", "r2", "r3"}
	paths        = []string{"/", "/v1", "/v1/x", "/v2"}
)

// anyChanges draws one to three valid changes of a snapshot.
func (c *composition) anyChanges(t *rapid.T, s *api.Snapshot) []api.Change {
	byRef := map[api.Ref]api.Change{}
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		doc := anyDocument(t)
		text, _ := json.Marshal(doc)
		o := c.decode(t, string(text))
		before, _ := s.Get(o.Ref)
		if before != nil && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			byRef[o.Ref] = api.Change{Before: before}
		} else {
			byRef[o.Ref] = api.Change{Before: before, After: o}
		}
	}
	refs := slices.SortedFunc(maps.Keys(byRef), api.Ref.Compare)
	var out []api.Change
	for _, r := range refs {
		out = append(out, byRef[r])
	}
	return out
}

func anyDocument(t *rapid.T) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	switch pick("type", "Dataplane", "Dataplane", "MeshService", "MeshHTTPRoute", "MeshHTTPRoute", "MeshRetry", "MeshTimeout", "MeshTimeout", "MeshRateLimit", "Mesh", "MeshExternalService") {
	case "Mesh":
		return m{"type": "Mesh", "name": "default", "meshServices": m{"mode": pick("mode", "Disabled", "Exclusive")}}
	case "Dataplane":
		return anyDataplane(t, pick)
	case "MeshService":
		name := pick("service", serviceNames...)
		return m{"type": "MeshService", "mesh": "default", "name": name, "labels": m{"app": name},
			"spec": m{"selector": m{"dataplaneTags": m{"app": name}}, "ports": []m{{"port": 8080, "appProtocol": pick("protocol", "http", "http", "tcp", "grpc")}}}}
	case "MeshExternalService":
		return m{"type": "MeshExternalService", "mesh": "default", "name": "outside",
			"spec": m{"match": m{"type": "HostnameGenerator", "port": 80, "protocol": pick("protocol", "http", "tcp")}, "endpoints": []m{{"address": "192.0.2.1", "port": 80}}}}
	case "MeshHTTPRoute":
		return anyRoute(t, pick)
	}
	return anyPolicy(t, pick)
}

func anyDataplane(t *rapid.T, pick func(string, ...string) string) m {
	app := pick("app", serviceNames...)
	var outs []m
	for i, name := range serviceNames {
		switch pick("outbound", "tag", "ref", "label", "none") {
		case "tag":
			outs = append(outs, m{"port": 10001 + i, "tags": m{"kuma.io/service": name}})
		case "ref":
			outs = append(outs, m{"port": 10001 + i, "backendRef": m{"kind": "MeshService", "name": name, "port": 8080}})
		case "label":
			outs = append(outs, m{"port": 10001 + i, "backendRef": m{"kind": "MeshService", "labels": m{"app": name}, "port": 8080}})
		}
	}
	return m{"type": "Dataplane", "mesh": "default", "name": pick("name", planeNames...), "labels": m{"app": app, "team": pick("team", "x", "y")},
		"networking": m{"address": "127.0.0.2", "outbound": outs, "inbound": []m{{"port": 8080, "state": pick("state", "Ready", "NotReady"),
			"tags": m{"kuma.io/service": app, "app": app, "version": pick("version", "1", "2"), "kuma.io/protocol": pick("protocol", "http", "http", "tcp")}}}}}
}

func anyTop(pick func(string, ...string) string) m {
	switch pick("top", "Mesh", "Mesh", "Dataplane", "MeshService", "MeshSubset") {
	case "Dataplane":
		return m{"kind": "Dataplane", "labels": m{"team": pick("team", "x", "y")}}
	case "MeshService":
		return m{"kind": "MeshService", "name": pick("service", serviceNames...)}
	case "MeshSubset":
		return m{"kind": "MeshSubset", "tags": m{"version": pick("version", "1", "2")}}
	}
	return m{"kind": "Mesh"}
}

func anyRoute(t *rapid.T, pick func(string, ...string) string) m {
	var rules []m
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		def := m{}
		if pick("filters", "yes", "no") == "yes" {
			def["filters"] = []m{{"type": "RequestHeaderModifier", "requestHeaderModifier": m{"set": []m{{"name": "x", "value": pick("value", "1", "2")}}}}}
		}
		switch pick("backends", "none", "port", "subset", "weights") {
		case "port":
			def["backendRefs"] = []m{{"kind": "MeshService", "name": pick("service", serviceNames...), "port": 8080}}
		case "subset":
			def["backendRefs"] = []m{{"kind": "MeshServiceSubset", "name": pick("service", serviceNames...), "tags": m{"version": "1"}}}
		case "weights":
			def["backendRefs"] = []m{{"kind": "MeshService", "name": pick("service", serviceNames...), "weight": 3}, {"kind": "MeshExternalService", "name": "outside", "weight": 1}}
		}
		rules = append(rules, m{"matches": []m{{"path": m{"type": pick("path", "Exact", "PathPrefix"), "value": pick("value", paths...)}}}, "default": def})
	}
	to := m{"kind": "MeshService", "name": pick("service", serviceNames...)}
	if pick("by", "name", "label") == "label" {
		to = m{"kind": "MeshService", "labels": m{"app": to["name"]}}
	}
	return m{"type": "MeshHTTPRoute", "mesh": "default", "name": pick("name", routeNames...), "labels": m{"team": pick("team", "x", "y")},
		"spec": m{"targetRef": anyTop(pick), "to": []m{{"targetRef": to, "rules": rules}}}}
}

func anyPolicy(t *rapid.T, pick func(string, ...string) string) m {
	kind := pick("kind", "MeshRetry", "MeshTimeout", "MeshTimeout", "MeshRateLimit")
	onRoute := m{"kind": "MeshHTTPRoute", "name": pick("route", routeNames...)}
	if pick("by", "name", "label") == "label" {
		onRoute = m{"kind": "MeshHTTPRoute", "labels": m{"team": pick("team", "x", "y")}}
	}
	if pick("section", "yes", "no", "no") == "yes" {
		onRoute["sectionName"] = pick("rule", "0", "1")
	}
	toService := m{"kind": "MeshService", "name": pick("service", serviceNames...)}
	spec, routed := m{"targetRef": anyTop(pick)}, true
	var to m
	switch pick("form", "mesh", "service", "label", "top route", "top route to service", "to route") {
	case "mesh":
		to, routed = m{"kind": "Mesh"}, false
	case "service":
		to, routed = toService, false
	case "label":
		to, routed = m{"kind": "MeshService", "labels": m{"app": toService["name"]}}, false
	case "top route":
		spec["targetRef"], to = onRoute, m{"kind": "Mesh"}
	case "top route to service":
		spec["targetRef"], to = onRoute, toService
	case "to route":
		to = onRoute
	}
	n := rapid.IntRange(1, 4).Draw(t, "number")
	var conf m
	switch kind {
	case "MeshRetry":
		conf = m{"http": m{"numRetries": n}}
	case "MeshTimeout":
		conf = m{"http": m{"requestTimeout": fmt.Sprintf("%ds", n)}}
		if !routed {
			conf["connectionTimeout"] = fmt.Sprintf("%ds", n)
		}
	case "MeshRateLimit":
		conf = m{"local": m{"http": m{"requestRate": m{"num": n, "interval": "1s"}}}}
	}
	spec["to"] = []m{{"targetRef": to, "default": conf}}
	if !routed && kind == "MeshRateLimit" && pick("inbound", "yes", "no") == "yes" {
		spec["from"] = []m{{"targetRef": m{"kind": "Mesh"}, "default": conf}}
	}
	doc := m{"type": kind, "mesh": "default", "name": pick("name", "p1", "p2", "p3", "p4"), "spec": spec}
	if pick("effect", "real", "real", "real", "shadow") == "shadow" {
		doc["labels"] = m{"kuma.io/effect": "shadow"}
	}
	return doc
}

// dump is everything that a model says, as text.
func dump(model *resolve.Model) string {
	var b strings.Builder
	for r := range model.Dataplanes("") {
		fmt.Fprintf(&b, "%s\n", r.Ref)
		for _, o := range r.Outbounds {
			fmt.Fprintf(&b, " out %s:%d -> %s %s %s\n", o.Address, o.Port, o.Destination.ID, o.Destination.Protocol, policiesText(o.Policies))
			if o.Table == nil {
				continue
			}
			for _, x := range o.Table.Routes {
				match, _ := json.Marshal(x.Match)
				filters, _ := json.Marshal(x.Filters)
				fmt.Fprintf(&b, "  %s from %s filters %s\n", match, originsText(x.Origins), filters)
				for _, be := range x.Backends {
					fmt.Fprintf(&b, "   to %s weight %d broken %q\n", be.Cluster, be.Weight, be.Broken)
				}
				fmt.Fprintf(&b, "   %s\n", policiesText(x.Policies))
			}
		}
		for _, c := range r.Clusters {
			fmt.Fprintf(&b, " cluster %s h2 %v %s %v\n", c.Cluster.Name, c.HTTP2, policiesText(c.Policies), c.List)
		}
		for _, in := range r.Inbounds {
			fmt.Fprintf(&b, " in %s %d %s %s\n", in.Name, in.Port, in.Protocol, policiesText(in.Policies))
		}
	}
	for n := range model.Notes() {
		fmt.Fprintf(&b, "note %s %s %s %s\n", n.Origin.Ref, n.Code, n.Field, n.Message)
	}
	return b.String()
}

func originsText(list []*api.Origin) string {
	var out []string
	for _, o := range list {
		out = append(out, o.Name+"#"+string(o.Field))
	}
	return strings.Join(out, ",")
}

func policiesText(p resolve.Policies) string {
	var out []string
	for _, e := range p {
		for _, f := range e.Fields {
			line := e.Kind.Name + "." + e.Kind.Schema.Leaves[f.Field].Path + "="
			for _, s := range f.Said {
				v, _ := json.Marshal(s.Value)
				line += fmt.Sprintf("%s(%s %s %s)", v, s.Origin.Name, s.Origin.Field, s.Layer)
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

func describe(changes []api.Change) string {
	var out []string
	for _, c := range changes {
		verb := "put "
		if c.After == nil {
			verb = "delete "
		}
		out = append(out, verb+c.Ref().String())
	}
	return strings.Join(out, ", ")
}
