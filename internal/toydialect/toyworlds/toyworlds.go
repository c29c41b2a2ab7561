// Package toyworlds draws random documents of the toy language, and of the mesh
// around them, for the laws that hold of every language.
package toyworlds

import (
	"encoding/json"
	"slices"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/toydialect"
	"github.com/weftmesh/weft/internal/worlds"
)

type m = map[string]any

// document draws what has to do with the language: routes that include each
// other, policies on them, dataplanes that call
// hosts, and one that serves them at the edge.
func document(t *rapid.T) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	toy := func() string { return pick("toy", "t1", "t2", "t3", "t4") }
	switch pick("type", "route", "route", "route", "policy", "caller", "redirected", "edge") {
	case "redirected":
		return redirected(t)
	case "caller":
		return m{"type": "Dataplane", "mesh": "default", "name": pick("caller", "x", "y"), "labels": m{"team": pick("team", "x", "y")},
			"networking": m{"address": "127.0.0.9", "outbound": []m{{"port": 20000, "hosts": m{"port": rapid.SampledFrom([]int{80, 81}).Draw(t, "at")}}}}}
	case "edge":
		hostname := func() string { return pick("hostname", "", "a.example", "*.example", "c.example") }
		return m{"type": "Dataplane", "mesh": "default", "name": "edge", "networking": m{"address": "127.0.0.8", "gateway": m{"type": "BUILTIN", "listeners": []m{
			{"port": 80, "hostname": hostname()}, {"port": rapid.SampledFrom([]int{81, 82}).Draw(t, "at"), "hostname": hostname()},
		}}}}
	case "policy":
		on := m{"kind": toydialect.Kind, "name": toy()}
		if pick("section", "all", "one") == "one" {
			on["sectionName"] = pick("rule", "0", "1")
		}
		word := pick("word", "default", "default", "override")
		item := m{"targetRef": on, word: m{"http": m{"requestTimeout": pick("timeout", "1s", "2s")}}}
		spec := m{"to": []m{item}}
		switch pick("top", "Mesh", "Dataplane", "route") {
		case "Dataplane":
			spec["targetRef"] = m{"kind": "Dataplane", "labels": m{"team": pick("team", "x", "y")}}
		case "route":
			item["targetRef"], spec["targetRef"] = m{"kind": "Mesh"}, on
		}
		return m{"type": "MeshTimeout", "mesh": "default", "name": pick("policy", "p1", "p2"), "spec": spec}
	}
	spec := m{}
	if host := pick("host", "", "", "a.example", "b.example", "*.example"); host != "" {
		spec["hosts"], spec["port"] = []string{host}, rapid.SampledFrom([]int{80, 80, 81}).Draw(t, "port")
	}
	var rules, includes []m
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		r := m{"path": pick("path", "/", "/a", "/b")}
		if pick("does", "forwards", "answers") == "forwards" {
			r["to"] = []m{{"service": pick("service", worlds.ServiceNames...), "port": 8080}, {"service": "nobody", "port": 1}}
		} else {
			r["answer"] = m{"status": 200 + len(rules)}
		}
		if pick("inline", "yes", "no") == "yes" {
			r["timeout"] = "3s"
		}
		if says := pick("webSockets", "", "yes", "no"); says != "" {
			r["webSockets"] = says == "yes"
		}
		rules = append(rules, r)
	}
	for range rapid.IntRange(0, 2).Draw(t, "includes") {
		includes = append(includes, m{"name": toy(), "prefix": pick("prefix", "/", "/a", "/in")})
	}
	if pick("limited", "yes", "no", "no") == "yes" {
		spec["limit"] = m{"requests": 7, "in": pick("in", "1s", "1h")}
	}
	spec["rules"], spec["includes"] = rules, includes
	doc := m{"type": toydialect.Kind, "mesh": "default", "name": toy(), "spec": spec}
	if pick("effect", "real", "real", "real", "shadow") == "shadow" {
		doc["labels"] = m{"kuma.io/effect": "shadow"}
	}
	return doc
}

// redirected draws a dataplane that reaches hosts without naming them.
func redirected(t *rapid.T) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	proxied := m{"redirectPortInbound": 15006, "redirectPortOutbound": 15001, "ipFamilyMode": pick("families", "IPv4", "IPv4", "IPv6", "DualStack")}
	if pick("reach", "all", "some") == "some" {
		proxied["reachableBackends"] = m{"refs": []m{{"kind": "MeshService", "name": pick("service", worlds.ServiceNames...)}}}
	}
	net := m{"address": pick("address", "127.0.0.7", "127.0.0.7", "::7"), "transparentProxying": proxied}
	if pick("taken", "yes", "no", "no") == "yes" {
		net["outbound"] = []m{{"address": "0.0.0.0", "port": 80, "hosts": m{"port": 81}}}
	}
	return m{"type": "Dataplane", "mesh": "default", "name": pick("redirected", "v", "w"), "labels": m{"team": pick("team", "x", "y")}, "networking": net}
}

// Changes draws some valid changes of a snapshot, of documents of the language and
// of the mesh around them. The catalog knows the language.
func Changes(t *rapid.T, catalog *api.Catalog, s *snapshot.Snapshot) []snapshot.Change {
	if rapid.IntRange(0, 2).Draw(t, "whose") == 0 {
		return worlds.Changes(t, catalog, s)
	}
	var out []snapshot.Change
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		text, err := json.Marshal(document(t))
		if err != nil {
			t.Fatal(err)
		}
		o := worlds.Decode(t, catalog, string(text))
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
