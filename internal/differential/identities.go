package differential

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim/wire"
)

// byIdentities is a theme: worlds of all route languages in which dataplanes of two trust domains
// prove who they are, to inbounds that insist on it and to those that do not, and policies say
// who may call. Several dataplanes ask, by requests and by connections.
var byIdentities = theme{func(d draw) Source { return Source{Documents: d.identified()} }, draw.identifiedPair, 100}

// bytesName is a service that takes connections.
const bytesName = "bytes"

// Dataplanes that ask beside client: one with another identity, and one that often has none.
const ops, lone = "ops", "lone"

// identified are documents of one language, of those who ask, and who they are.
func (d draw) identified() []m {
	var docs []m
	switch d.IntN(4) {
	case 0:
		docs = d.documents()
	case 1:
		docs = d.gatewayDocuments()
	case 2:
		docs = d.proxies()
	default:
		docs = d.templates(d.groups())
	}
	docs = d.askers(docs)
	switch {
	case d.open():
		docs = append(docs, everybody)
	case d.shut(): // nobody may call where nothing is said
	default:
		for i := range one(d, 0, 1, 2, 2, 3) {
			docs = append(docs, d.permission(fmt.Sprintf("m%d", i)))
		}
	}
	docs = d.aimed(docs)
	return append(docs, d.identities(docs)...)
}

// open and shut are worlds, two of five whatever is drawn, in which all that can prove who they
// are do so, and all of them may call, or nobody. Half of their pairs are connections to a service
// that is always there, so verdicts of both kinds are met by every seed.
func (d draw) open() bool    { return d.world%5 == 1 }
func (d draw) shut() bool    { return d.world%5 == 3 }
func (d draw) settled() bool { return d.open() || d.shut() }

// everybody is a permission for all who prove a name.
var everybody = m{"type": "MeshTrafficPermission", "mesh": "default", "name": "all", "spec": m{"rules": []any{m{"default": m{"allow": []any{
	m{"spiffeID": m{"type": "Prefix", "value": "spiffe://" + meshDomain}}, m{"spiffeID": m{"type": "Prefix", "value": "spiffe://" + otherDomain}}}}}}}}

// askers adds the others who ask as client does, and a service that takes connections, which
// all of them call.
func (d draw) askers(docs []m) []m {
	var out []m
	outbound := m{"port": 10003, "backendRef": m{"kind": "MeshService", "name": bytesName, "port": 9000}}
	for _, doc := range docs {
		if doc["name"] != client.Name || kindOf(doc) != api.KindDataplane {
			out = append(out, doc)
			continue
		}
		old := doc["networking"].(m)
		for i, name := range []string{client.Name, ops, lone} {
			in := list(old["inbound"])[0]
			tags := m{"kuma.io/service": name, "kuma.io/protocol": in["tags"].(m)["kuma.io/protocol"], "version": one(d, "1", "2")}
			out = append(out, m{"type": "Dataplane", "mesh": "default", "name": name, "networking": m{"address": fmt.Sprintf("127.0.0.%d", i+1),
				"outbound": append(slices.Clip(old["outbound"].([]any)), outbound), "inbound": []any{m{"port": 19000, "tags": tags}}}})
		}
	}
	out = append(out, m{"type": "MeshService", "mesh": "default", "name": bytesName, "spec": m{
		"selector": m{"dataplaneTags": m{"kuma.io/service": bytesName}}, "ports": []any{m{"port": 9000, "targetPort": 18080, "appProtocol": "tcp"}}}})
	for n := range one(d, 1, 1, 2) {
		out = append(out, m{"type": "Dataplane", "mesh": "default", "name": fmt.Sprintf("bytes-%d", n+1), "networking": m{
			"address": fmt.Sprintf("127.0.1.%d", 60+n), "inbound": []any{inbound(bytesName, one(d, "1", "2"), one(d, "tcp", "tcp", "http"), 18080)}}})
	}
	for _, doc := range out { // by which identities are given, and inbounds found
		if kindOf(doc) == api.KindDataplane {
			labels := m{"who": doc["name"], "team": one(d, "a", "a", "b")}
			if doc["name"] == lone && d.chance(6) {
				delete(labels, "team")
			}
			doc["labels"] = labels
		}
	}
	return out
}

// identities say who the dataplanes are, how their inbounds take mutual TLS, and how far the
// mesh is with that.
func (d draw) identities(docs []m) []m {
	var out []m
	named := func(name, domain string, selector m) m {
		return m{"type": "MeshIdentity", "mesh": "default", "name": name, "spec": m{"selector": selector, "spiffeID": m{"trustDomain": domain, "path": `/w/{{ label "who" }}`},
			"provider": m{"type": "Bundled", "bundled": m{"insecureAllowSelfSigned": true, "autogenerate": m{"enabled": true}}}}}
	}
	team := func(name string) m { return m{"dataplane": m{"matchLabels": m{"team": name}}} }
	mtls := m{"type": "Mesh", "name": "default", "mtls": m{"enabledBackend": "ca", "backends": []any{m{"name": "ca", "type": "builtin", "mode": one(d, "STRICT", "PERMISSIVE")}}}}
	switch kind := d.IntN(10); {
	case kind == 0 && !d.settled(): // nobody proves anything
	case kind < 4:
		out = append(out, mtls)
	case kind < 7:
		out = append(out, mtls, named("b", otherDomain, team("b")))
	default:
		out = append(out, named("a", meshDomain, team("a")), named("b", otherDomain, team("b")))
	}
	for i := range one(d, 0, 1, 1, 2) {
		top := one(d, m{"kind": "Mesh"}, m{"kind": "Dataplane", "labels": m{"team": one(d, "a", "b")}}, m{"kind": "Dataplane", "labels": m{"who": one(d, "web-1", "v1-1", "v2-1", "bytes-1")}})
		conf := m{"mode": one(d, "Strict", "Permissive")}
		if top["kind"] == "Mesh" && d.chance(2) {
			conf["tlsVersion"] = one(d, m{"min": "TLS12"}, m{"min": "TLS13"}, m{"max": "TLS12"})
		}
		out = append(out, m{"type": "MeshTLS", "mesh": "default", "name": fmt.Sprintf("t%d", i), "spec": m{"targetRef": top, "rules": []any{m{one(d, "default", "default", "override"): conf}}}})
	}
	for _, doc := range docs {
		if kindOf(doc) == api.KindDataplane {
			out = append(out, m{"type": api.KindDataplaneInsight, "mesh": "default", "name": doc["name"], "spec": m{"identity": d.IntN(15) > 0 || d.settled(), "tls": d.chance(8) || d.settled(), "plain": d.chance(1)}})
		}
	}
	return out
}

// identifiedPair is a pair of the language of its world, by one of those who ask; now and then a
// connection.
func (d draw) identifiedPair(w *World) Pair {
	is := func(kinds ...string) bool {
		return slices.ContainsFunc(w.Documents, func(doc m) bool { return slices.Contains(kinds, kindOf(doc)) })
	}
	var p Pair
	switch {
	case d.chance(1), d.settled() && d.chance(4):
		p = Pair{Source: w.Source, Request: wire.Request{Method: one(d, "GET", "POST"), URL: "http://" + bytesName + ":9000" + one(d, "/", "/v1", "/a/b", "/new")}}
	case is("HTTPProxy"):
		p = d.proxyPair(w)
	case is("RouteGroup"):
		p = d.groupPair(w)
	case is("HTTPRoute", "GRPCRoute"):
		p = d.gatewayPair(w)
	default:
		p = d.pair(w)
	}
	p.From = one(d, "", "", ops, lone)
	return p
}
