package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/laws"
	"github.com/weftmesh/weft/internal/worlds"
)

type m = map[string]any

// drawn draws documents of a mesh in Kubernetes whose names meet often.
type drawn struct{ *rapid.T }

func (d drawn) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(d.T, label)
}

func (d drawn) number(label string, from ...int) int {
	return rapid.SampledFrom(from).Draw(d.T, label)
}

func (d drawn) service() string   { return d.pick("service", "web", "v1", "v2") }
func (d drawn) namespace() string { return d.pick("namespace", "a", "a", "b") }

func kube(apiVersion, kind, namespace, name string, spec m) m {
	return m{"apiVersion": apiVersion, "kind": kind, "metadata": m{"name": name, "namespace": namespace}, "spec": spec}
}

func (d drawn) document() m {
	switch d.pick("type", "plane", "service", "slice", "http", "http", "grpc", "tcp", "tls", "kuma", "policy", "namespace", "gateway", "gateway", "class", "edge", "grant", "host") {
	case "gateway", "class", "edge", "grant", "host":
		return d.atTheEdge()
	case "plane":
		name := d.pick("plane", "p", "q")
		return m{"type": "Dataplane", "mesh": "default", "name": name, "labels": m{"k8s.kuma.io/namespace": d.namespace(), "app": d.service()}, "networking": m{
			"address": "10.0.0." + map[string]string{"p": "1", "q": "2"}[name], "transparentProxying": m{},
			"inbound": []m{{"port": 8080, "tags": m{"kuma.io/service": d.service(), "kuma.io/protocol": d.pick("protocol", "http", "tcp")}}}}}
	case "service":
		spec := m{"clusterIP": d.pick("ip", "10.96.0.1", "10.96.0.2", "None"), "selector": m{"app": d.service()}, "ports": []m{
			{"name": d.pick("port", "http", "main"), "port": 80, "targetPort": 8080, "appProtocol": d.pick("protocol", "http", "", "tcp")}}}
		if d.pick("external", "no", "no", "no", "yes") == "yes" {
			spec["type"] = "ExternalName"
		}
		return kube("v1", "Service", d.namespace(), d.service(), spec)
	case "slice":
		name := d.service()
		doc := kube("discovery.k8s.io/v1", "EndpointSlice", d.namespace(), name+d.pick("slice", "-1", "-2"), nil)
		delete(doc, "spec")
		doc["metadata"].(m)["labels"] = m{"kubernetes.io/service-name": name}
		doc["addressType"], doc["ports"] = "IPv4", []m{{"name": d.pick("port", "http", "main"), "port": 8080}}
		doc["endpoints"] = []m{{"addresses": []string{d.pick("address", "10.0.0.1", "10.0.0.2", "10.0.0.9")}, "conditions": m{"ready": d.pick("ready", "yes", "no") == "yes"}}}
		return doc
	case "namespace":
		return m{"apiVersion": "v1", "kind": "Namespace", "metadata": m{"name": d.namespace(), "labels": m{"kuma.io/sidecar-injection": d.pick("injection", "enabled", "disabled")}}}
	case "kuma":
		return m{"type": "MeshHTTPRoute", "mesh": "default", "name": "k", "spec": m{"to": []m{{"targetRef": m{"kind": "MeshService", "name": d.service(), "namespace": d.namespace()},
			"rules": []m{{"matches": []m{{"path": m{"type": "PathPrefix", "value": "/k"}}}, "default": m{}}}}}}}
	case "policy":
		on := m{"kind": d.pick("kind", "HTTPRoute", "GRPCRoute"), "name": d.pick("route", "r1", "r2"), "namespace": d.namespace()}
		if d.pick("section", "no", "yes") == "yes" {
			on["sectionName"] = "named"
		}
		return m{"type": "MeshTimeout", "mesh": "default", "name": d.pick("policy", "t1", "t2"), "spec": m{"to": []m{{"targetRef": on, "default": m{"http": m{"requestTimeout": d.pick("timeout", "1s", "2s")}}}}}}
	case "tcp":
		return d.route("TCPRoute", nil)
	case "tls":
		return d.route("TLSRoute", nil)
	case "grpc":
		return d.route("GRPCRoute", m{"method": m{"service": d.pick("call", "A", "B")}})
	}
	return d.route("HTTPRoute", m{"path": m{"value": d.pick("path", "/", "/a", "/b/")}})
}

func (d drawn) route(kind string, match m) m {
	parent := m{"group": "", "kind": "Service", "name": d.service(), "namespace": d.namespace()}
	if d.pick("parent", "service", "gateway") == "gateway" {
		parent = m{"name": d.pick("gateway", "g", "h"), "namespace": d.namespace()}
	}
	switch d.pick("at", "all", "port", "section") {
	case "port":
		parent["port"] = d.number("port", 80, 81)
	case "section":
		parent["sectionName"] = d.pick("port", "http", "main")
	}
	spec := m{"parentRefs": []m{parent}}
	if names := d.hostnames(); len(names) > 0 && kind != "TCPRoute" {
		spec["hostnames"] = names
	} else if kind == "TLSRoute" {
		spec["hostnames"] = edgeHosts[:1]
	}
	rule := m{"backendRefs": []m{{"name": d.service(), "namespace": d.namespace(), "port": 80, "weight": d.number("weight", 0, 1, 3)}}}
	if d.pick("named", "no", "yes") == "yes" {
		rule["name"] = "named"
	}
	if match != nil {
		rule["matches"] = []m{match}
	}
	if kind == "HTTPRoute" && d.pick("inline", "no", "yes") == "yes" {
		rule["timeouts"] = m{"request": "7s"}
	}
	spec["rules"] = []m{rule}
	doc := kube("gateway.networking.k8s.io/v1", kind, d.namespace(), d.pick("route", "r1", "r2"), spec)
	doc["metadata"].(m)["creationTimestamp"] = fmt.Sprintf("2026-01-0%dT00:00:00Z", d.number("age", 1, 2))
	return doc
}

// changes draws some valid changes of a snapshot.
func changes(t *rapid.T, s *snapshot.Snapshot) []snapshot.Change {
	var out []snapshot.Change
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		text, err := json.Marshal(drawn{t}.document())
		if err != nil {
			t.Fatal(err)
		}
		o := worlds.Decode(t, world.Catalog(), string(text))
		if slices.ContainsFunc(out, func(c snapshot.Change) bool { return c.Ref() == o.Ref }) {
			continue
		}
		before, _ := s.Get(o.Ref)
		if before != nil && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			o = nil
		}
		out = append(out, snapshot.Change{Before: before, After: o})
	}
	return out
}

func TestUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	laws.UpdateEqualsCompile(t, world.Dialects(), changes)
}
