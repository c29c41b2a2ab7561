// Package worlds draws random documents that belong together, for the property
// tests of every stage: a few services, dataplanes, routes and policies whose
// names meet often. What it draws is valid, but may well refer to nothing.
package worlds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
)

// Fataler is what a *testing.T and a *rapid.T have in common.
type Fataler interface {
	Fatalf(string, ...any)
	Helper()
}

// Decode reads one document, which must be valid.
func Decode(t Fataler, catalog *api.Catalog, text string) *api.Object {
	t.Helper()
	objects, err := decode.Objects(catalog, "test.yaml", []byte(text))
	if api.Refuses(err) || len(objects) != 1 { // a world may be worth a warning
		t.Fatalf("decode: %v\n%s", err, text)
	}
	return objects[0]
}

type m = map[string]any

// ServiceNames are the names that services, classic and real, are drawn from.
var ServiceNames = []string{"web", "orders", "backend"}

var (
	planeNames = []string{"a", "b", "c", "d"}
	routeNames = []string{"r1", "r2", "r3"}
	paths      = []string{"/", "/v1", "/v1/x", "/v2", "/%C3%A9"}
)

// Snapshot is what so many times Changes lead to.
func Snapshot(t *rapid.T, catalog *api.Catalog, times int) *snapshot.Snapshot {
	s := snapshot.New(0)
	for i := range times {
		s = s.With(uint64(i+1), Changes(t, catalog, s))
	}
	return s
}

// Changes draws one to three valid changes of a snapshot.
func Changes(t *rapid.T, catalog *api.Catalog, s *snapshot.Snapshot) []snapshot.Change {
	return ChangesOf(t, s, func(t *rapid.T) *api.Object {
		text, _ := json.Marshal(document(t))
		return Decode(t, catalog, string(text))
	})
}

// ChangesOf draws one to three changes of a snapshot by drawing documents.
func ChangesOf(t *rapid.T, s *snapshot.Snapshot, draw func(*rapid.T) *api.Object) []snapshot.Change {
	byRef := map[api.Ref]snapshot.Change{}
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		o := draw(t)
		before, _ := s.Get(o.Ref)
		if before != nil && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			byRef[o.Ref] = snapshot.Change{Before: before}
		} else {
			byRef[o.Ref] = snapshot.Change{Before: before, After: o}
		}
	}
	refs := slices.SortedFunc(maps.Keys(byRef), api.Ref.Compare)
	var out []snapshot.Change
	for _, r := range refs {
		out = append(out, byRef[r])
	}
	return out
}

// Policies draws n policies of different names: for worlds in which many meet.
func Policies(t *rapid.T, catalog *api.Catalog, n int) []*api.Object {
	out := make([]*api.Object, n)
	for i := range out {
		doc := policy(t, func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) })
		doc["name"] = fmt.Sprintf("p%d", i+1)
		text, _ := json.Marshal(doc)
		out[i] = Decode(t, catalog, string(text))
	}
	return out
}

func document(t *rapid.T) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	switch pick("type", "Dataplane", "Dataplane", "MeshService", "MeshHTTPRoute", "MeshHTTPRoute", "MeshTCPRoute", "MeshRetry", "MeshTimeout", "MeshTimeout", "MeshRateLimit", "securing", "permission", "MeshExternalService", "MeshMultiZoneService", "cluster", "cluster", "cluster", "cluster") {
	case "cluster":
		return ofCluster(pick)
	case "securing":
		return securing(pick)
	case "permission":
		return permission(pick, "")
	case "Dataplane":
		return dataplane(t, pick)
	case "MeshService":
		name := pick("service", ServiceNames...)
		labels := m{"app": name}
		object := name
		switch pick("home", "none", "none", "shop", "twin") {
		case "shop":
			labels["k8s.kuma.io/namespace"] = "shop"
		case "twin": // a second object by the same name
			labels["k8s.kuma.io/namespace"], labels["kuma.io/display-name"], object = "shop", name, name+"-2"
		}
		ports := []m{{"port": 8080, "appProtocol": pick("protocol", "http", "http", "tcp", "grpc")}}
		if pick("second", "no", "no", "yes") == "yes" {
			ports = append(ports, m{"port": 7070, "name": "other", "appProtocol": "http"})
		}
		return m{"type": "MeshService", "mesh": "default", "name": object, "labels": labels,
			"spec": m{"selector": m{"dataplaneTags": m{"app": name}}, "ports": ports}}
	case "MeshExternalService":
		return m{"type": "MeshExternalService", "mesh": "default", "name": "outside",
			"spec": m{"match": m{"type": "HostnameGenerator", "port": 80, "protocol": pick("protocol", "http", "tcp")}, "endpoints": []m{{"address": "192.0.2.1", "port": 80}}}}
	case "MeshMultiZoneService":
		return m{"type": "MeshMultiZoneService", "mesh": "default", "name": "zones",
			"spec": m{"selector": m{"meshService": m{"matchLabels": m{"app": pick("service", ServiceNames...)}}}, "ports": []m{{"port": 8080, "appProtocol": "http"}}}}
	case "MeshHTTPRoute":
		return httpRoute(t, pick)
	case "MeshTCPRoute":
		return tcpRoute(pick)
	}
	return policy(t, pick)
}

func dataplane(t *rapid.T, pick func(string, ...string) string) m {
	app := pick("app", ServiceNames...)
	var outs []m
	for i, name := range ServiceNames {
		switch pick("outbound", "tag", "ref", "label", "none") {
		case "tag":
			outs = append(outs, m{"port": 10001 + i, "tags": m{"kuma.io/service": name}})
		case "ref":
			outs = append(outs, m{"port": 10001 + i, "backendRef": m{"kind": "MeshService", "name": name, "port": 8080}})
		case "label":
			outs = append(outs, m{"port": 10001 + i, "backendRef": m{"kind": "MeshService", "labels": m{"app": name}, "port": 8080}})
		}
	}
	ins := []m{{"port": 8080, "state": pick("state", "Ready", "NotReady", "Ignored"),
		"tags": m{"kuma.io/service": app, "app": app, "version": pick("version", "1", "2"), "kuma.io/protocol": pick("protocol", "http", "http", "tcp")}}}
	if pick("second", "no", "no", "yes") == "yes" {
		ins = append(ins, m{"port": 7070, "tags": m{"kuma.io/service": pick("app", ServiceNames...), "kuma.io/protocol": "http"}})
	}
	return m{"type": "Dataplane", "mesh": "default", "name": pick("name", planeNames...), "labels": m{"app": app, "team": pick("team", "x", "y")},
		"networking": m{"address": "127.0.0.2", "outbound": outs, "inbound": ins}}
}

func top(pick func(string, ...string) string) m {
	switch pick("top", "Mesh", "Mesh", "Dataplane", "MeshService", "MeshSubset") {
	case "Dataplane":
		return m{"kind": "Dataplane", "labels": m{"team": pick("team", "x", "y")}}
	case "MeshService":
		return m{"kind": "MeshService", "name": pick("service", ServiceNames...)}
	case "MeshSubset":
		return m{"kind": "MeshSubset", "tags": m{"version": pick("version", "1", "2")}}
	}
	return m{"kind": "Mesh"}
}

func httpRoute(t *rapid.T, pick func(string, ...string) string) m {
	var rules []m
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		def := m{}
		if pick("filters", "yes", "no") == "yes" {
			def["filters"] = []m{{"type": "RequestHeaderModifier", "requestHeaderModifier": m{"set": []m{{"name": "x", "value": pick("value", "1", "2", "é 日本")}}}}}
		}
		if refs := backendRefs(pick); refs != nil {
			def["backendRefs"] = refs
		}
		rules = append(rules, m{"matches": []m{{"path": m{"type": pick("path", "Exact", "PathPrefix"), "value": pick("value", paths...)}}}, "default": def})
	}
	return m{"type": "MeshHTTPRoute", "mesh": "default", "name": pick("name", routeNames...), "labels": m{"team": pick("team", "x", "y")},
		"spec": m{"targetRef": top(pick), "to": []m{{"targetRef": destination(pick), "rules": rules}}}}
}

func tcpRoute(pick func(string, ...string) string) m {
	refs := backendRefs(pick)
	if refs == nil {
		refs = []m{{"kind": "MeshExternalService", "name": "outside"}}
	}
	return m{"type": "MeshTCPRoute", "mesh": "default", "name": pick("name", routeNames...),
		"spec": m{"targetRef": top(pick), "to": []m{{"targetRef": destination(pick), "rules": []m{{"default": m{"backendRefs": refs}}}}}}}
}

// destination is a ref to what a route is about.
func destination(pick func(string, ...string) string) m {
	to := m{"kind": "MeshService", "name": pick("service", ServiceNames...)}
	if pick("port", "any", "any", "other") == "other" {
		to["sectionName"] = "other"
	}
	if pick("by", "name", "label") == "label" {
		to = m{"kind": "MeshService", "labels": m{"app": to["name"]}}
	}
	return to
}

// backendRefs are those of a rule; nil for none.
func backendRefs(pick func(string, ...string) string) []m {
	switch pick("backends", "none", "port", "subset", "weights", "near", "zones") {
	case "near": // of a service that may come and go
		return []m{{"kind": "MeshService", "name": pick("service", ServiceNames...) + "s"}}
	case "zones":
		return []m{{"kind": "MeshMultiZoneService", "name": "zones", "port": 8080}}
	case "port":
		return []m{{"kind": "MeshService", "name": pick("service", ServiceNames...), "port": 8080}}
	case "subset":
		return []m{{"kind": "MeshServiceSubset", "name": pick("service", ServiceNames...), "tags": m{"version": "1"}}}
	case "weights":
		return []m{{"kind": "MeshService", "name": pick("service", ServiceNames...), "weight": 3}, {"kind": "MeshExternalService", "name": "outside", "weight": 1}}
	}
	return nil
}

func policy(t *rapid.T, pick func(string, ...string) string) m {
	kind := pick("kind", "MeshRetry", "MeshTimeout", "MeshTimeout", "MeshRateLimit")
	onRoute := m{"kind": "MeshHTTPRoute", "name": pick("route", routeNames...)}
	if pick("by", "name", "label") == "label" {
		onRoute = m{"kind": "MeshHTTPRoute", "labels": m{"team": pick("team", "x", "y")}}
	}
	if pick("section", "yes", "no", "no") == "yes" {
		onRoute["sectionName"] = pick("rule", "0", "1")
	}
	toService := m{"kind": "MeshService", "name": pick("service", ServiceNames...) + pick("form", "", "", "_shop_svc_8080")}
	spec, routed := m{"targetRef": top(pick)}, true
	var to m
	switch pick("form", "mesh", "service", "label", "top route", "top route to service", "to route") {
	case "mesh":
		to, routed = m{"kind": "Mesh"}, false
	case "service":
		to, routed = toService, false
	case "label":
		to, routed = m{"kind": "MeshService", "labels": m{"app": pick("service", ServiceNames...)}}, false
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
	said := m{"targetRef": to, "default": conf}
	switch pick("word", "default", "default", "default", "override", "both") {
	case "override":
		said = m{"targetRef": to, "override": conf}
	case "both": // of two fields: a default beside an override of its field acts nowhere
		said["override"] = m{"MeshRetry": m{"http": m{"retryOn": []string{"5xx"}}}, "MeshTimeout": m{"http": m{"streamIdleTimeout": fmt.Sprintf("%ds", n)}},
			"MeshRateLimit": m{"local": m{"http": m{"onRateLimit": m{"status": 429 + 74*(n%2)}}}}}[kind]
	}
	spec["to"] = []m{said}
	if !routed && kind == "MeshRateLimit" && pick("inbound", "yes", "no") == "yes" {
		spec["from"] = []m{{"targetRef": m{"kind": "Mesh"}, "default": conf}}
	}
	doc := m{"type": kind, "mesh": "default", "name": pick("name", "p1", "p2", "p3", "p4"), "spec": spec}
	if pick("effect", "real", "real", "real", "shadow") == "shadow" {
		doc["labels"] = m{"kuma.io/effect": "shadow"}
	}
	return doc
}
