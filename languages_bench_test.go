package weft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
)

// Many routes: so many objects, each of so many rules for a destination or host of its own.
const (
	manyObjects = 1000
	manyRules   = 10
)

// routed is object i of a language, whose first rule asks for a header with a value.
type routed func(i int, value string) string

// languages are the ways to write many routes, and what lists their destinations among
// the outbounds of a client.
var languages = []struct {
	name     string
	outbound func(i int) string // empty: a host
	object   routed
}{
	{"MeshHTTPRoute", toService, func(i int, value string) string {
		return fmt.Sprintf("type: MeshHTTPRoute\nmesh: default\nname: r%d\nspec:\n  to:\n  - targetRef: {kind: MeshService, name: s%[1]d}\n    rules:\n", i) +
			rules("    - {matches: [{path: {type: PathPrefix, value: /a/%d}, method: GET, headers: [{name: x, value: %q}]}], default: {}}\n", value)
	}},
	{"HTTPRoute", toService, func(i int, value string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r%d, namespace: n}\nspec:\n  parentRefs: [{group: \"\", kind: Service, name: s%[1]d}]\n  rules:\n", i) +
			rules("  - {matches: [{path: {value: /a/%d}, method: GET, headers: [{name: x, value: %q}]}], backendRefs: [{name: s, port: 80}]}\n", value)
	}},
	{"HTTPProxy", nil, func(i int, value string) string {
		return fmt.Sprintf("apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: r%d, namespace: n}\nspec:\n  virtualhost: {fqdn: h%[1]d.example.org}\n  routes:\n", i) +
			rules("  - {conditions: [{prefix: /a/%d}, {header: {name: x, exact: %q}}], services: [{name: s, port: 80}]}\n", value)
	}},
	{"RouteGroup", nil, func(i int, value string) string {
		return fmt.Sprintf("apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: r%d, namespace: n}\nspec:\n  hosts: [h%[1]d.example.org]\n"+
			"  backends: [{name: s, type: service, serviceName: s, servicePort: 80}]\n  defaultBackends: [{backendName: s}]\n  routes:\n", i) +
			rules("  - {pathSubtree: /a/%d, methods: [GET], predicates: ['Header(\"x\", %q)']}\n", value)
	}},
}

func toService(i int) string {
	return fmt.Sprintf("backendRef: {kind: MeshService, name: s%d, port: 80}", i)
}

// rules are the rules of an object by the form of one: with the value, then with others.
func rules(form, value string) string {
	var b strings.Builder
	for r := range manyRules {
		fmt.Fprintf(&b, form, r, value)
		value = "y"
	}
	return b.String()
}

func read(b *testing.B, text string) []*api.Object {
	b.Helper()
	objects, err := decode.Objects(world.Catalog(), "many.yaml", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	return objects
}

// manyOf is a mesh with many routes of one language.
func manyOf(b *testing.B, outbound func(int) string, object routed) *snapshot.Snapshot {
	b.Helper()
	var text, calls strings.Builder
	text.WriteString("{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n}, spec: {ports: [{port: 80, appProtocol: http}]}}\n")
	calls.WriteString("  - {port: 80, hosts: {port: 80}}\n")
	for i := range manyObjects {
		text.WriteString("---\n" + object(i, "x"))
		if outbound != nil {
			fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: Service, metadata: {name: s%d, namespace: n}, spec: {ports: [{port: 80, appProtocol: http}]}}\n", i)
			fmt.Fprintf(&calls, "  - {port: %d, %s}\n", 10_000+i, outbound(i))
		}
	}
	text.WriteString("---\ntype: Dataplane\nmesh: default\nname: client\nlabels: {k8s.kuma.io/namespace: n}\nnetworking:\n  address: 10.0.0.1\n  outbound:\n" + calls.String())
	return world.Snapshot(read(b, text.String())...)
}

// BenchmarkLanguages compiles 10,000 routes of each language, which are read already,
// and then reads and resolves one object of them that changed.
func BenchmarkLanguages(b *testing.B) {
	for _, l := range languages {
		s := manyOf(b, l.outbound, l.object)
		b.Run("compile/"+l.name, func(b *testing.B) {
			for b.Loop() {
				world.Compile(s)
			}
		})
		b.Run("change/"+l.name, func(b *testing.B) { change(b, s, l.object) })
	}
}

// BenchmarkIncludeTree resolves a change of one leaf of 1,000 that a root includes.
func BenchmarkIncludeTree(b *testing.B) {
	leaf := func(i int, value string) string {
		return fmt.Sprintf("apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: l%d, namespace: n}\nspec:\n  routes:\n"+
			"  - {conditions: [{header: {name: x, exact: %q}}], services: [{name: s, port: 80}]}\n", i, value)
	}
	root := "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: root, namespace: n}\nspec:\n  virtualhost: {fqdn: example.org}\n  includes:\n"
	for i := range manyObjects {
		root += fmt.Sprintf("  - {name: l%d, conditions: [{prefix: /%[1]d}]}\n", i)
	}
	s := manyOf(b, nil, leaf)
	after := read(b, root)
	change(b, s.With(2, []snapshot.Change{{After: after[0]}}), leaf)
}

// change reads and resolves an object whose value goes to and fro.
func change(b *testing.B, s *snapshot.Snapshot, object routed) {
	b.Helper()
	m, _ := world.Compile(s)
	affected := 0
	b.ResetTimer()
	for n := 0; b.Loop(); n++ {
		o := read(b, object(7, fmt.Sprintf("v%d", n%2)))[0]
		before, _ := m.Snapshot().Get(o.Ref)
		list := []snapshot.Change{{Before: before, After: o}}
		next, a := m.Update(m.Snapshot().With(uint64(n+3), list), list)
		m, affected = next, len(a.Dataplanes)
	}
	if affected != 1 {
		b.Fatalf("%d dataplanes are affected, want 1", affected)
	}
}
