package worlds

import (
	"encoding/json"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
)

// Securing draws a document about who workloads are, and how they prove it.
func Securing(t *rapid.T, catalog *api.Catalog) *api.Object {
	return drawn(t, catalog, securing)
}

// Permission draws a document about who may call, of a namespace; empty for outside Kubernetes.
func Permission(t *rapid.T, catalog *api.Catalog, namespace string) *api.Object {
	return drawn(t, catalog, func(pick func(string, ...string) string) m { return permission(pick, namespace) })
}

func drawn(t *rapid.T, catalog *api.Catalog, draw func(func(string, ...string) string) m) *api.Object {
	text, _ := json.Marshal(draw(func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }))
	return Decode(t, catalog, string(text))
}

func securing(pick func(string, ...string) string) m {
	switch pick("about", "Mesh", "MeshIdentity", "MeshTLS") {
	case "MeshIdentity":
		labels := m{}
		if team := pick("team", "", "x", "y"); team != "" {
			labels["team"] = team
		}
		return m{"type": "MeshIdentity", "mesh": "default", "name": pick("identity", "i1", "i2"), "spec": m{
			"selector": m{"dataplane": m{"matchLabels": labels}},
			"spiffeID": m{"trustDomain": pick("domain", "td", "default"), "path": `/x/{{ label "team" }}`},
			"provider": m{"type": "Bundled", "bundled": m{"insecureAllowSelfSigned": true, "autogenerate": m{"enabled": true}}}}}
	case "MeshTLS":
		conf, target := m{"mode": pick("mode", "Strict", "Permissive")}, m{"kind": "Mesh"}
		switch pick("top", "Mesh", "labels", "section") {
		case "labels":
			target = m{"kind": "Dataplane", "labels": m{"team": "x"}}
		case "section":
			target = m{"kind": "Dataplane", "sectionName": "main"}
		default: // both ends of connections have one version
			if newest := pick("newest", "", "TLS13"); newest != "" {
				conf["tlsVersion"] = m{"max": newest}
			}
		}
		return m{"type": "MeshTLS", "mesh": "default", "name": pick("policy", "p1", "p2"), "spec": m{
			"targetRef": target, "rules": []m{{pick("field", "default", "default", "override"): conf}}}}
	}
	return mesh(pick)
}

// mesh is the Mesh, with an authority or without.
func mesh(pick func(string, ...string) string) m {
	out := m{"type": "Mesh", "name": "default", "meshServices": m{"mode": pick("mode", "Disabled", "Exclusive")}}
	ca := m{"name": "ca", "type": "builtin"}
	switch pick("mtls", "none", "none", "off", "strict", "permissive") {
	case "off":
		out["mtls"] = m{"backends": []m{ca}}
	case "strict":
		out["mtls"] = m{"enabledBackend": "ca", "backends": []m{ca}}
	case "permissive":
		ca["mode"], ca["dpCert"] = "PERMISSIVE", m{"rotation": m{"expiration": "1h"}}
		out["mtls"] = m{"enabledBackend": "ca", "backends": []m{ca}}
	}
	return out
}

func permission(pick func(string, ...string) string, namespace string) m {
	target := m{"kind": "Mesh"}
	switch pick("top", "mesh", "mesh", "labels", "section", "tags") {
	case "labels":
		target = m{"kind": "Dataplane", "labels": m{"team": "x"}}
	case "section":
		target = m{"kind": "Dataplane", "sectionName": "main"}
	case "tags":
		target = m{"kind": "MeshSubset", "tags": m{"kuma.io/service": "web"}}
	}
	who := map[string]m{
		"one":     {"spiffeID": m{"type": "Exact", "value": "spiffe://default/web"}},
		"all":     {"spiffeID": m{"type": "Prefix", "value": "spiffe://default"}},
		"nobody":  {"anonymous": true},
		"reading": {"http": m{"methods": []string{"GET"}}},
	}[pick("who", "one", "all", "nobody", "reading")]
	spec := m{"rules": []m{{pick("part", "default", "default", "override"): m{pick("list", "deny", "allow", "allowWithShadowDeny"): []m{who}}}}}
	if on := pick("route", "", "", "r1", "r2"); on != "" && namespace == "" {
		target = m{"kind": "MeshHTTPRoute", "name": on}
		if pick("rule", "all", "first") == "first" {
			target["sectionName"] = "0"
		}
	} else if pick("form", "rules", "from") == "from" {
		from := map[string]m{"mesh": {"kind": "Mesh"}, "service": {"kind": "MeshService", "name": "web"}}[pick("from", "mesh", "service")]
		spec = m{"from": []m{{"targetRef": from, "default": m{"action": pick("action", "Allow", "Deny")}}}}
	}
	spec["targetRef"] = target
	labels := m{}
	if pick("effect", "real", "real", "shadow") == "shadow" {
		labels["kuma.io/effect"] = "shadow"
	}
	if namespace != "" {
		labels["k8s.kuma.io/namespace"] = namespace
	}
	return m{"type": "MeshTrafficPermission", "mesh": "default", "name": pick("policy", "p1", "p2", "p3") + namespace, "labels": labels, "spec": spec}
}
