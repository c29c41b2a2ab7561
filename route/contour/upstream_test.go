package contour_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// annotated is a Service with annotations, and a root and a child that send to its ports.
const annotated = `
{type: Dataplane, mesh: default, name: client, networking: {address: 127.0.0.1, outbound: [{port: 10001, hosts: {port: 80}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default, annotations: {%s}}, spec: {ports: [{name: plain, port: 80}, {name: sec, port: 443}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s-1, namespace: default, labels: {kubernetes.io/service-name: s}}, addressType: IPv4, ports: [{name: plain, port: 80}, {name: sec, port: 443}], endpoints: [{addresses: [127.0.0.1]}]}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: plain, namespace: default}, spec: {virtualhost: {fqdn: plain.example}, routes: [{services: [{name: s, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: secure, namespace: default}, spec: {virtualhost: {fqdn: secure.example}, routes: [{services: [{name: s, port: 443}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: says, namespace: default}, spec: {virtualhost: {fqdn: says.example}, routes: [{services: [{name: s, port: 443, protocol: h2c}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: mirrors, namespace: default}, spec: {virtualhost: {fqdn: mirrors.example}, routes: [{services: [{name: s, port: 80}, {name: s, port: 443, mirror: true}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: root, namespace: default}, spec: {virtualhost: {fqdn: root.example}, includes: [{name: child}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: child, namespace: default}, spec: {routes: [{services: [{name: s, port: 443}]}]}}
`

// spokenToAt is how a request to a host goes on: refused, in HTTP/1.1 or in HTTP/2.
func spokenToAt(t *testing.T, m *resolve.Model, host string) string {
	t.Helper()
	v, err := sim.Run(m, client, wire.Request{URL: "http://" + host + "/"})
	if err != nil {
		t.Fatal(err)
	}
	switch b := v.Branches[0]; {
	case len(b.Backends) == 0:
		return "refused"
	case b.Backends[0].HTTP2:
		return "h2c"
	}
	return "http"
}

// TestServicesSayHowTheyAreSpokenTo: what an annotation of Contour asks of a port, by number or
// name, is what the same word in a route asks: TLS is not served in plain text.
func TestServicesSayHowTheyAreSpokenTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ annotations, plain, secure, says, mirrors, root string }{
		{``, "http", "http", "h2c", "http", "http"},
		{`projectcontour.io/upstream-protocol.tls: "443,sec"`, "http", "refused", "h2c", "refused", "refused"},
		{`projectcontour.io/upstream-protocol.tls: " sec "`, "http", "refused", "h2c", "refused", "refused"},
		{`projectcontour.io/upstream-protocol.tls: "443"`, "http", "refused", "h2c", "refused", "refused"},
		{`projectcontour.io/upstream-protocol.h2: "sec"`, "http", "refused", "h2c", "refused", "refused"},
		{`projectcontour.io/upstream-protocol.h2c: "80, 443"`, "h2c", "h2c", "h2c", "h2c", "h2c"},
		{`projectcontour.io/upstream-protocol.h2c: "443", projectcontour.io/upstream-protocol.tls: "443"`, "http", "refused", "h2c", "refused", "refused"},
		{`projectcontour.io/upstream-protocol.h2c: "sec", projectcontour.io/upstream-protocol.tls: "443"`, "http", "h2c", "h2c", "http", "h2c"},
		{`projectcontour.io/upstream-protocol.tls: "8443"`, "http", "http", "h2c", "http", "http"},
		{`contour.heptio.com/upstream-protocol.tls: "443"`, "http", "http", "h2c", "http", "http"},
	} {
		objects, found := world.Decode("x.yaml", fmt.Appendf(nil, annotated, c.annotations))
		if len(found) > 0 {
			t.Fatal(found)
		}
		m, _ := world.Compile(world.Snapshot(objects...))
		for host, want := range map[string]string{"plain": c.plain, "secure": c.secure, "says": c.says, "mirrors": c.mirrors, "root": c.root} {
			if got := spokenToAt(t, m, host+".example"); got != want {
				t.Errorf("%s: %s is %s, want %s", c.annotations, host, got, want)
			}
		}
		if notes := notesOf(m, api.Ref{Kind: "HTTPProxy", Mesh: "default", Namespace: "default", Name: "secure"}); (c.secure == "refused") != strings.Contains(notes, "projectcontour.io/upstream-protocol.") {
			t.Errorf("%s: of the HTTPProxy is told %q", c.annotations, notes)
		}
	}
}

func notesOf(m *resolve.Model, ref api.Ref) string {
	var out []string
	for _, n := range m.Reader(nil).NotesOn(ref) {
		out = append(out, string(n.Field)+": "+n.Message)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
