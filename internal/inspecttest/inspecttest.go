// Package inspecttest has the small worlds about which tests of packages below inspect ask.
package inspecttest

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
)

// Street has two callers of web; only a-1 has route-1, and mr-top on it.
//
//go:embed testdata/street.yaml
var Street string

// Model is what documents come to, in which nothing may be doubtful.
func Model(t *testing.T, text string) *resolve.Reader {
	t.Helper()
	objects, violations := world.Decode("street.yaml", []byte(text))
	if len(violations) > 0 {
		t.Fatal(violations[0])
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	return m.Reader(nil)
}

// Plane is a dataplane of mesh default.
func Plane(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

// Connected is a sidecar that refuses nothing.
func Connected(name string, inSync bool) inspect.Sidecar {
	return inspect.Sidecar{Dataplane: Plane(name), Connected: true, InSync: inSync}
}

// SecureModel is a mesh of two dataplanes, where mtls is the rest of the mesh's document, and the sidecars
// have identities where they are proved.
func SecureModel(t *testing.T, mtls string, proved bool) *resolve.Model {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "test.yaml", []byte(fmt.Sprintf(`
{type: Mesh, name: default%s}
---
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}]}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: b}}]}}
`, mtls)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		objects = append(objects, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &api.DataplaneInsight{Identity: proved}})
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), world.Kinds())
	return m
}
