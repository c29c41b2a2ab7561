package gateway_test

import (
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/certs"
)

// pairs are certificates of which Secrets hold one.
var pairs = func() (out []*certs.Pair) {
	for range 2 {
		pair, err := certs.Make("a.example.org")
		if err != nil {
			panic(err)
		}
		out = append(out, pair)
	}
	return out
}()

// secret draws a Secret: with either certificate, or none.
func (d drawn) secret() m {
	doc := kube("v1", "Secret", d.namespace(), d.pick("secret", "c", "d"), m{})
	delete(doc, "spec")
	doc["type"] = "Opaque"
	if i := d.number("pair", 0, 1, 2); i < 2 {
		doc["type"], doc["stringData"] = "kubernetes.io/tls", m{"tls.crt": string(pairs[i].Chain), "tls.key": string(pairs[i].Key)}
	}
	return doc
}

// edgeHosts are hostnames that cover each other.
var edgeHosts = []string{"*.example.org", "*.org", "a.example.org", "b.example.org", "x.a.example.org"}

func (d drawn) hostnames() []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(edgeHosts), 0, 2, rapid.ID[string]).Draw(d.T, "hostnames")
}

// atTheEdge draws Gateways and what stands around them.
func (d drawn) atTheEdge() m {
	const version = "gateway.networking.k8s.io/v1"
	switch d.pick("edge", "gateway", "gateway", "gateway", "class", "edge", "edge", "client", "grant", "host", "secret", "secret", "lent") {
	case "secret":
		return d.secret()
	case "lent":
		return kube(version, "ReferenceGrant", d.namespace(), "lent", m{
			"from": []m{{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": d.namespace()}}, "to": []m{{"group": "", "kind": "Secret"}}})
	case "class":
		doc := kube(version, "GatewayClass", "", d.pick("class", "weft", "other"), m{"controllerName": d.pick("controller", "weft.io/controller", "example.org/other")})
		delete(doc["metadata"].(m), "namespace")
		return doc
	case "edge":
		labels := m{"k8s.kuma.io/namespace": d.namespace()}
		if g := d.pick("gateway", "g", "h", ""); g != "" {
			labels["gateway.networking.k8s.io/gateway-name"] = g
		}
		return m{"type": "Dataplane", "mesh": "default", "name": d.pick("edge", "e", "f"), "labels": labels, "networking": m{"address": "10.0.1.1", "gateway": m{"type": "BUILTIN", "listeners": []m{{"port": d.number("port", 80, 81)},
			{"port": 443, "protocol": "https", "hostname": "*.example.org", "tls": m{"secret": d.pick("secret", "c", "d")}}}}}}
	case "client":
		return m{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "10.0.2.1", "outbound": []m{{"port": 10000, "hosts": m{"port": d.number("port", 80, 81)}}}}}
	case "grant":
		return kube(version, "ReferenceGrant", d.namespace(), "grant", m{
			"from": []m{{"group": "gateway.networking.k8s.io", "kind": d.pick("kind", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"), "namespace": d.namespace()}}, "to": []m{{"group": "", "kind": "Service"}}})
	case "host":
		host := m{"fqdn": d.pick("fqdn", "a.example.org", "*.example.org")}
		if d.number("tls", 0, 1) == 1 {
			host["tls"] = m{"secretName": d.pick("secret", "c", "d")}
		}
		return m{"type": "HTTPProxy", "mesh": "default", "namespace": d.namespace(), "name": d.pick("proxy", "p", "q"), "spec": m{"virtualhost": host,
			"routes": []m{{"directResponsePolicy": m{"statusCode": 418}}}}}
	}
	var list []m
	for _, name := range []string{"http", "main"}[:d.number("listeners", 1, 2)] {
		l := m{"name": name, "port": d.number("port", 80, 80, 81), "protocol": d.pick("protocol", "HTTP", "HTTP", "HTTPS", "TCP", "TLS")}
		if l["protocol"] == "HTTPS" || l["protocol"] == "TLS" {
			l["tls"] = m{"certificateRefs": []m{{"name": d.pick("secret", "c", "d"), "namespace": d.namespace()}}}
		}
		if l["protocol"] == "TLS" && d.pick("mode", "Terminate", "Passthrough") == "Passthrough" {
			l["tls"] = m{"mode": "Passthrough"}
		}
		if host := d.pick("hostname", append(edgeHosts, "")...); host != "" && l["protocol"] != "TCP" {
			l["hostname"] = host
		}
		allowed := m{}
		switch from := d.pick("from", "All", "Same", "Selector", ""); from {
		case "Selector":
			allowed["namespaces"] = m{"from": from, "selector": m{"matchLabels": m{"kuma.io/sidecar-injection": "enabled"}}}
		case "All", "Same":
			allowed["namespaces"] = m{"from": from}
		}
		if d.pick("kinds", "all", "all", "one") == "one" {
			allowed["kinds"] = []m{{"kind": d.pick("kind", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")}}
		}
		l["allowedRoutes"] = allowed
		list = append(list, l)
	}
	return kube(version, "Gateway", d.namespace(), d.pick("gateway", "g", "h"), m{"gatewayClassName": d.pick("class", "weft", "weft", "other"), "listeners": list})
}
